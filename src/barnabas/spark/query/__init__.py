"""Monitoring of running queries: group, lag, metrics, data loss."""
