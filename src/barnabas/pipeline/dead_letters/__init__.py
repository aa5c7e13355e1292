"""Records that did not fit: read, listed, and sent into their topics again. Without Spark."""
