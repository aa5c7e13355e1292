"""Limits the memory for large requests that have not arrived completely: `queued.max.request.bytes`.

A client may announce a hundred megabytes and send them slowly, on each of a thousand connections. With a limit, memory
for a whole large frame is reserved when its size is known, before its bytes are read, so a request that was begun can
be finished. As in Kafka, the last reservation may exceed the limit; otherwise a request larger than the limit could
never be read. A connection that gets no reservation is not read until others have freed theirs.

Kafka counts every request, so that a few slow senders stop all others. Small requests are not counted here: they fit
into the buffer that every connection has.
"""

from collections import deque
from typing import Protocol


class Reader(Protocol):
    def retry_reserve(self) -> None:
        """Memory was freed: call `reserve` again."""


class RequestMemory:
    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._waiting: deque[Reader] = deque()
        self.reserved_bytes = 0

    def reserve(self, reader: Reader, size: int) -> bool:
        """False: `retry_reserve` will be called when memory was freed."""
        if self.reserved_bytes >= self._bytes_max:
            self._waiting.append(reader)
            return False
        self.reserved_bytes += size
        return True

    def free(self, size: int) -> None:
        self.reserved_bytes -= size
        # Each of them reserves, or waits again; later ones stay behind it.
        waiting, self._waiting = self._waiting, deque()
        while waiting:
            if self.reserved_bytes >= self._bytes_max:
                self._waiting.extendleft(reversed(waiting))
                return
            waiting.popleft().retry_reserve()

    def forget(self, reader: Reader) -> None:
        """The connection was closed."""
        if reader in self._waiting:
            self._waiting.remove(reader)
