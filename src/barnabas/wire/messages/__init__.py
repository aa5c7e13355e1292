"""One shape per API, whatever its version: generated."""
