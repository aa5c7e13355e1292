"""Reads topics, as batch and as stream: offsets, tasks, fetches."""
