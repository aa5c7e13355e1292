"""Durations and sizes as people write them, `1h30m` and `256MB`, and durations as Java writes them, `PT1H30M`.

All parsing of durations and sizes happens here; commands, pipelines and Spark's options wrap these errors.
"""

import re
from typing import Final

_UNITS_US: Final = {
    "us": 1,
    "ms": 1_000,
    "millisecond": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "second": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "minute": 60_000_000,
    "h": 3_600_000_000,
    "hour": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
    "w": 604_800_000_000,
    "week": 604_800_000_000,
    "y": 31_557_600_000_000,
    "year": 31_557_600_000_000,
}
_UNIT_OF: Final = {**_UNITS_US, **{f"{unit}s": us for unit, us in _UNITS_US.items() if len(unit) > 2}}
_SHOWN: Final = ("day", "hour", "minute", "second", "millisecond")

_DECIMAL_BYTES: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15}
_BINARY_BYTES: Final = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50}
_BYTES_OF: Final = {**_DECIMAL_BYTES, **_BINARY_BYTES}

_PART: Final = re.compile(r"\s*(\d+)(?:\.(\d+))?\s*([A-Za-z]*)\s*", re.ASCII)
# The grammar of java.time.Duration.parse, which Kafka uses.
_ISO: Final = re.compile(
    r"([+-]?)P(?=.)(?:([+-]?\d+)D)?(?:T(?=.)(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)

DURATION_MS_MAX: Final = 100 * 366 * 86_400_000
"""A century: anything longer is a mistake. Keeps sums well within a Java long."""
DURATION_EXAMPLES: Final = "30s, 10min, 12h, 7d or 1h30m"

SIZE_BYTES_MAX: Final = 2**63 - 1
SIZE_EXAMPLES: Final = "256MB (millions of bytes) or 256MiB (1024 x 1024 bytes)"

_DIGITS_MAX: Final = 20
"""More digits than any quantity within these bounds has."""


class NotADuration(ValueError):
    """The message says what is wrong; the caller adds where, and an example."""


class NotASize(ValueError):
    """As `NotADuration`."""


def parse_duration_ms(text: str, *, bare_unit: str | None = None) -> int:
    """`1h30m`, `2 days`, `1.5 hours`. A number alone is in `bare_unit`, or is refused."""
    if bare_unit is not None and _is_bare(text):
        text = f"{text.strip()} {bare_unit}"
    position = total_us = 0
    while position < len(text) or not position:
        part = _PART.match(text, position)
        if part is None:
            raise NotADuration(f"`{text}` is not a duration")
        if not part[3]:
            raise NotADuration(f"`{text.strip()}` has no unit")
        unit_us = _UNIT_OF.get(part[3].lower())
        if unit_us is None:
            raise NotADuration(f"`{part[3]}` is not a unit of time")
        if len(part[1]) > _DIGITS_MAX:
            raise NotADuration(f"`{text}` is longer than a century")
        total_us += _times(part, unit_us)
        position = part.end()
    if total_us > DURATION_MS_MAX * 1000:
        raise NotADuration(f"`{text}` is longer than a century")
    return total_us // 1000


def parse_size_bytes(text: str) -> int:
    """`4096`, `256MB`, `1.5 GiB`."""
    part = _PART.fullmatch(text)
    if part is None:
        raise NotASize(f"`{text}` is not a size")
    unit_bytes = _BYTES_OF.get(part[3].lower())
    if unit_bytes is None:
        raise NotASize(f"`{part[3]}` is not a unit of size")
    if len(part[1]) > _DIGITS_MAX or (size := _times(part, unit_bytes)) > SIZE_BYTES_MAX:
        raise NotASize(f"`{text}` is too large")
    return size


def parse_iso_duration_ms(text: str) -> int:
    """`P1DT2H3M4.5S`, with signs as in Java: it may be negative."""
    found = _ISO.fullmatch(text)
    if found is None or any(len(digits or "") > _DIGITS_MAX for digits in found.groups()):
        raise NotADuration(f"`{text}` is not a duration")
    sign, days, hours, minutes, seconds, fraction = found.groups()
    whole_s = int(days or 0) * 86_400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    rest_ms = int((fraction or "").ljust(3, "0")[:3])
    total_ms = whole_s * 1000 + (-rest_ms if (seconds or "").startswith("-") else rest_ms)
    return -total_ms if sign == "-" else total_ms


def duration_in_words(duration_ms: int) -> str:
    """`1 hour 30 minutes`: what `parse_duration_ms` reads again."""
    rest_us, parts = duration_ms * 1000, []
    for unit in _SHOWN:
        count, rest_us = divmod(rest_us, _UNITS_US[unit])
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 seconds"


def _is_bare(text: str) -> bool:
    part = _PART.fullmatch(text)
    return part is not None and not part[3]


def _times(part: re.Match[str], unit: int) -> int:
    """The part's number times the unit, without floating-point errors, rounded down."""
    fraction = (part[2] or "0")[:_DIGITS_MAX]
    scale: int = 10 ** len(fraction)
    return int(part[1]) * unit + int(fraction) * unit // scale
