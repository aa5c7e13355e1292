"""What happened in a run, step by step, as one digest: two runs with equal digests did the same.

Lines name functions and coroutines, never objects: an address in memory differs from run to run.
"""

import asyncio
import hashlib
from collections import deque
from functools import partial
from typing import Final
from zlib import crc32

LAST_LINES: Final = 60
"""Kept for the message of a failure."""


class Trace:
    def __init__(self, *, keep_all: bool = False) -> None:
        """`keep_all`: keep every line, to find the first difference between two runs."""
        self.lines: deque[str] = deque(maxlen=None if keep_all else LAST_LINES)
        self.count = 0
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, now_us: int, node: str, event: str) -> None:
        line = f"{now_us} {node} {event}"
        self.count += 1
        self.lines.append(line)
        self._hash.update(line.encode())
        self._hash.update(b"\n")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def describe_bytes(data: bytes | bytearray | memoryview) -> str:
    return f"{len(data)} bytes {crc32(data):08x}"


def describe_callback(callback: object) -> str:
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"task {getattr(owner.get_coro(), '__qualname__', 'unnamed')}"
    while isinstance(callback, partial):
        callback = callback.func
    name = getattr(callback, "__qualname__", None)
    return name if isinstance(name, str) else type(callback).__qualname__
