"""Decides who gets which records, and what becomes of them. No I/O, no clock."""
