"""A running query as operators see it: its group, its lag, its metrics."""
