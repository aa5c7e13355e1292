"""Calls that only Linux has, each with a portable fallback.

The fallback is used where Python lacks the call. Nothing else in Barnabas depends on the operating system.
"""
