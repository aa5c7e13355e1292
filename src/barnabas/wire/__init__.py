"""Bytes to messages and back: frames, headers, the API table, errors, layouts and their codec. No event loop."""
