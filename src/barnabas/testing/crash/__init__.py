"""Ends a broker at every step it takes on its disk, and checks that the next one keeps what was promised.

`python -m barnabas.testing.crash` is the command; docs/crash-testing.md tells how to use it.
"""
