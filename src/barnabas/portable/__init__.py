"""Calls that only Linux has, each with a portable fallback; and the replacement of a file in one step.

The fallback is used where Python lacks the call. Nothing else in Barnabas depends on the operating system.
"""
