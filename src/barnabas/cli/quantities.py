"""Durations and sizes as people type them: 30d, 12h, 10min, 256MB."""

import re
from typing import Final

from barnabas.cli.errors import CommandFailed

_SECONDS: Final = {"ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_557_600}
_BYTES: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BINARY: Final = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_QUANTITY: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def duration_s(option: str, text: str) -> float:
    number, unit = _split(option, text, "30d, 12h or 10min")
    if unit not in _SECONDS:
        raise CommandFailed(
            f"{option} wants a duration, not {text!r}", hint=f"write it like 30d; units: {', '.join(_SECONDS)}"
        )
    return number * _SECONDS[unit]


def size_bytes(option: str, text: str) -> int:
    number, unit = _split(option, text, "256MB or 2GiB")
    units = {**_BYTES, **_BINARY}
    if unit not in units:
        raise CommandFailed(f"{option} wants a size, not {text!r}", hint="write it like 256MB or 2GiB")
    return int(number * units[unit])


def _split(option: str, text: str, example: str) -> tuple[float, str]:
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise CommandFailed(f"{option} cannot be {text!r}", hint=f"write it like {example}")
    return float(found[1]), found[2].lower()
