"""Rate-limited warnings: each kind is logged at most once a minute, whatever clients repeat.

The next line of a kind says how many were left out.
"""

import logging
from collections.abc import Callable, Hashable
from typing import Final

INTERVAL_MS: Final = 60_000
KINDS_MAX: Final = 200
"""An upper bound of lines per minute: a thousand hosts may make the same mistake."""


class RateLimitedLog:
    def __init__(self, logger: logging.Logger, now_ms: Callable[[], int]) -> None:
        self._logger = logger
        self._now_ms = now_ms
        self._logged: dict[Hashable, _Logged] = {}
        """By kind, oldest first."""

    def warn(self, kind: Hashable, message: str, *arguments: object) -> None:
        now_ms = self._now_ms()
        last = self._logged.get(kind)
        if last is not None and now_ms < last.quiet_until_ms:
            last.left_out += 1
            return
        if last is None and not self._has_room(now_ms):
            return
        if last is not None and last.left_out:
            message += " (%d more times since the last such line)"
            arguments = (*arguments, last.left_out)
        self._logged.pop(kind, None)
        self._logged[kind] = _Logged(now_ms + INTERVAL_MS)
        self._logger.warning(message, *arguments)

    def _has_room(self, now_ms: int) -> bool:
        while len(self._logged) >= KINDS_MAX:
            oldest, logged = next(iter(self._logged.items()))
            if now_ms < logged.quiet_until_ms:
                return False
            del self._logged[oldest]
        return True


class _Logged:
    __slots__ = ("left_out", "quiet_until_ms")

    def __init__(self, quiet_until_ms: int) -> None:
        self.quiet_until_ms = quiet_until_ms
        self.left_out = 0
