"""Ends a broker at every step of its disk I/O, and checks that the next one keeps what was acknowledged.

`python -m barnabas.testing.crash` is the command; docs/crash-testing.md describes it.
"""
