"""The order of all tests, for workers that take equal parts of the list and steal from the end of each other's part.

Tests with the fixture `spark` stand at the beginning of the first parts, long tests at the beginning of the others, so
that short ones are left to be stolen in the end, and no worker is still busy when the others have nothing to do. Tests
of a file stay together where they can: they may share a broker.
"""

from collections.abc import Sequence

import pytest

LONG_S = 300.0
"""Tests that are given more time than this (`pytest.mark.timeout`) are long."""
SPARKS = 2
"""Each has to start and to warm up. With one, its tests would take longer than all others together."""


def arranged(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """The same items, which come in random order, file by file."""
    with_spark = [item for item in items if _needs_spark(item)]
    long = [item for item in items if _is_long(item) and not _needs_spark(item)]
    short = [item for item in items if not _needs_spark(item) and not _is_long(item)]
    short.sort(key=lambda item: not _starts_processes(item))
    sparks = min(SPARKS, workers)
    others = workers - sparks
    beginnings = _shared_out(with_spark, sparks) + [long[number::others] for number in range(others)]
    if not others:
        beginnings[0] += long
    parts: list[pytest.Item] = []
    for beginning in beginnings:
        count = max(len(items) // workers - len(beginning), 0)
        parts += [*beginning, *short[:count]]
        short = short[count:]
    return [*parts, *short]


def _shared_out(items: Sequence[pytest.Item], count: int) -> list[list[pytest.Item]]:
    """In equal parts, but file by file."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    parts: list[list[pytest.Item]] = [[] for _ in range(count)]
    for file in sorted(files.values(), key=len, reverse=True):
        min(parts, key=len).extend(file)
    return parts


def _needs_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ())


def _is_long(item: pytest.Item) -> bool:
    timeout = item.get_closest_marker("timeout")
    return timeout is not None and timeout.args[0] > LONG_S


def _starts_processes(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("spark", "crash", "clients"))
