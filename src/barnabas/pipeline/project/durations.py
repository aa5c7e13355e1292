"""Lengths of time as people write them: `30 seconds`, `1 minute`, `1 hour 30 minutes`."""

import re
from dataclasses import dataclass

_UNITS_MS = {
    "millisecond": 1,
    "ms": 1,
    "second": 1000,
    "sec": 1000,
    "s": 1000,
    "minute": 60_000,
    "min": 60_000,
    "m": 60_000,
    "hour": 3_600_000,
    "h": 3_600_000,
    "day": 86_400_000,
    "d": 86_400_000,
    "week": 604_800_000,
    "w": 604_800_000,
}
_PLURALS = ("millisecond", "second", "sec", "minute", "min", "hour", "day", "week")
_UNIT_OF = {**_UNITS_MS, **{f"{unit}s": _UNITS_MS[unit] for unit in _PLURALS}}

_PART = re.compile(r"\s*(\d+)\s*([A-Za-z]+)\s*", re.ASCII)

LONGEST_MS = 100 * 366 * 86_400_000
"""A century: whoever needs more state than that has mistyped. It keeps the sum far inside a Java long."""


class NotADuration(ValueError):
    """Says what is wrong; the place is added by whoever read it."""


@dataclass(frozen=True, order=True)
class Duration:
    ms: int

    @property
    def spark(self) -> str:
        """As `withWatermark`, `window` and triggers take it."""
        return f"{self.ms} milliseconds"

    def __str__(self) -> str:
        rest, parts = self.ms, []
        for unit in ("day", "hour", "minute", "second", "millisecond"):
            count, rest = divmod(rest, _UNITS_MS[unit])
            if count:
                parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
        return " ".join(parts) or "0 seconds"


def duration(text: str) -> Duration:
    position, total = 0, 0
    while position < len(text) or not position:
        part = _PART.match(text, position)
        if part is None:
            if text.strip().isdigit():
                raise NotADuration(f"`{text.strip()}` has no unit")
            raise NotADuration(f"`{text}` is not a length of time")
        unit = _UNIT_OF.get(part[2].lower())
        if unit is None:
            raise NotADuration(f"`{part[2]}` is not a unit of time")
        if len(part[1]) > len(str(LONGEST_MS)):
            raise NotADuration(f"`{text}` is longer than a century")
        total += int(part[1]) * unit
        position = part.end()
    if total > LONGEST_MS:
        raise NotADuration(f"`{text}` is longer than a century")
    return Duration(total)
