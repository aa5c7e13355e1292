"""Decisions for groups (later: transactions, share groups), stored as records in the broker's own topics."""
