"""Decides when the next request of a connection may begin, and whether its socket is read until then.

A request begins when there is no reason to stop. All reasons:

| Reason     | Why no request begins                   | From                    | Until                  | Socket   |
|------------|-----------------------------------------|-------------------------|------------------------|----------|
| HELD       | clients connect too fast                | the connection is made  | its delay is over      | not read |
| THROTTLED  | the client exceeded a quota (KIP-219)   | the answer that says so | its throttle time ends | not read |
| UNWRITABLE | the client does not read its answers    | the send buffer is full | it is nearly empty     | not read |
| NO_MEMORY  | no memory for a large request           | its size is known       | others have freed some | not read |
| CLOSED     | the connection is closed                | it is closed            | never                  | not read |
| EXCLUSIVE  | one is in progress, and none may follow | `begin`                 | `answered`             | read     |
| FULL       | too many requests or answers wait       | `begin`, `answered`     | `sent`                 | read     |

"Read" means until the receive buffer is full; so the end of the connection is noticed. One rule is not about all
requests: while `only_api` is set, only requests of that API begin (`MayFollow.SAME_API`).

Nothing here waits or knows a socket. `Connection` reads the fields `stops` and `only_api` for every request.
"""

from typing import Final

from barnabas.handlers.pending import MayFollow

HELD: Final = 1
THROTTLED: Final = 2
UNWRITABLE: Final = 4
NO_MEMORY: Final = 8
CLOSED: Final = 16
EXCLUSIVE: Final = 32
FULL: Final = 64
NOT_READ: Final = HELD | THROTTLED | UNWRITABLE | NO_MEMORY | CLOSED

# Answers that are ready but wait for an earlier one. A single Fetch answer may have 55 MB (`fetch.max.bytes`).
QUEUED_BYTES_MAX: Final = 32 * 1024 * 1024
API_KEY_BYTES: Final = 2


class FlowControl:
    __slots__ = (
        "_in_flight",
        "_in_flight_max",
        "_queued_bytes",
        "_same_api_waits",
        "_throttled_until",
        "only_api",
        "stops",
    )

    def __init__(self, in_flight_max: int) -> None:
        self.stops = 0
        """The reasons that hold now; 0: a request may begin."""
        self.only_api = b""
        """If not empty, only requests that begin with these bytes, their API key, may begin."""
        self._same_api_waits = 0
        """How many requests wait that only requests of `only_api` may follow."""
        self._in_flight_max = in_flight_max
        self._in_flight = 0
        """Requests that have begun and whose answer was not sent yet."""
        self._queued_bytes = 0
        self._throttled_until = 0.0

    def stop(self, reason: int) -> None:
        self.stops |= reason

    def clear(self, reason: int) -> None:
        self.stops &= ~reason

    def begin(self, may_follow: MayFollow, request: memoryview) -> None:
        """The answer to this request is not sent at once: it is not ready, or waits for an earlier one."""
        if may_follow is MayFollow.NONE:
            self.stops |= EXCLUSIVE
        elif may_follow is MayFollow.SAME_API:
            self._same_api_waits += 1
            self.only_api = bytes(request[:API_KEY_BYTES])
        self._in_flight += 1
        if self._in_flight >= self._in_flight_max:
            self.stops |= FULL

    def answered(self, may_follow: MayFollow, size: int) -> None:
        """The answer to a request that has begun is ready; those to earlier ones are sent first."""
        if may_follow is MayFollow.NONE:
            self.stops &= ~EXCLUSIVE
        elif may_follow is MayFollow.SAME_API:
            self._same_api_waits -= 1
            if not self._same_api_waits:
                self.only_api = b""
        self._queued_bytes += size
        if self._queued_bytes >= QUEUED_BYTES_MAX:
            self.stops |= FULL

    def sent(self, size: int) -> None:
        """An answer that was ready is sent now."""
        self._in_flight -= 1
        self._queued_bytes -= size
        if self._in_flight < self._in_flight_max and self._queued_bytes < QUEUED_BYTES_MAX:
            self.stops &= ~FULL

    def throttle(self, until: float) -> bool:
        """True: call `end_throttle` at that time. False: the client is throttled for longer already."""
        self.stops |= THROTTLED
        if until <= self._throttled_until:
            return False
        self._throttled_until = until
        return True

    def end_throttle(self, until: float) -> None:
        if until == self._throttled_until:  # no later answer asked for a longer one
            self._throttled_until = 0.0
            self.stops &= ~THROTTLED
