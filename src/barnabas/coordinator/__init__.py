"""Decides for groups, transactions and share groups, and stores the decisions in internal topics."""
