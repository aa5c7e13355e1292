"""Calls that Linux has and macOS has not, each with a twin that works on both.

The twin is chosen by what Python offers, not by the system's name. Nothing else in Barnabas asks which system it is on.
"""
