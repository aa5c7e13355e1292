"""An LRU cache for the indexes of sealed segments.

The active segment of a log keeps its indexes in memory. Those of older segments are loaded when a lookup needs them,
and share one memory limit for all logs of a broker.
"""

from collections import OrderedDict
from typing import Final, Protocol

BYTES_MAX: Final = 64 * 1024 * 1024
"""Enough for about thirteen full segments of 1 GiB at Kafka's defaults, each with up to 5 MiB of indexes."""


class Droppable(Protocol):
    def drop_indexes(self) -> None: ...


class IndexCache:
    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._sizes: OrderedDict[Droppable, int] = OrderedDict()

    def touch(self, owner: Droppable) -> None:
        if owner in self._sizes:
            self._sizes.move_to_end(owner)

    def add(self, owner: Droppable, size_bytes: int) -> None:
        self.forget(owner)
        self._sizes[owner] = size_bytes
        self._bytes += size_bytes
        while self._bytes > self._bytes_max and len(self._sizes) > 1:
            oldest, size = self._sizes.popitem(last=False)
            self._bytes -= size
            oldest.drop_indexes()

    def forget(self, owner: Droppable) -> None:
        self._bytes -= self._sizes.pop(owner, 0)
