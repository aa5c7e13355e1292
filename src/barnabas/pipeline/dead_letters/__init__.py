"""Dead letters: read, listed, and sent to their topics again. Without Spark."""
