"""What large requests that have not arrived in full may take, of all connections: `queued.max.request.bytes`.

A sender may announce a hundred megabytes and send them slowly, on each of a thousand connections. With a bound the
whole of a large frame is reserved when its size is known, and before its bytes are taken in; so whatever was begun can
be finished. As in Kafka the last reservation may go past the bound, or none larger than it could ever be made. Who does
not get one is not read from, until those before it are done.

Kafka counts every request, so that a few slow senders stop all others. Small requests are not counted here: they fit
into the buffer that a connection has anyway.
"""

from collections import deque
from typing import Protocol


class Reader(Protocol):
    def feed(self) -> None:
        """Something was given back: try again."""


class RequestMemory:
    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._waiting: deque[Reader] = deque()
        self.reserved_bytes = 0

    def reserve(self, reader: Reader, size: int) -> bool:
        """False: its turn comes with `feed`."""
        if self.reserved_bytes >= self._bytes_max:
            self._waiting.append(reader)
            return False
        self.reserved_bytes += size
        return True

    def give_back(self, size: int) -> None:
        self.reserved_bytes -= size
        # Each of them reserves again, or waits again: those who came later keep their place behind.
        waiting, self._waiting = self._waiting, deque()
        while waiting:
            if self.reserved_bytes >= self._bytes_max:
                self._waiting.extendleft(reversed(waiting))
                return
            waiting.popleft().feed()

    def forget(self, reader: Reader) -> None:
        """It is gone."""
        if reader in self._waiting:
            self._waiting.remove(reader)
