"""Durations, sizes and times in options and settings: 30s, 12h, 7d; 256MB, 2GiB; 2026-01-31T12:00Z."""

from datetime import datetime

from barnabas.cli.errors import CommandFailed
from barnabas.model.quantities import (
    DURATION_EXAMPLES,
    SIZE_EXAMPLES,
    NotADuration,
    NotASize,
    parse_duration_ms,
    parse_iso_duration_ms,
    parse_size_bytes,
)


def duration_s(option: str, text: str, *, bare_unit: str | None = None) -> float:
    return duration_ms(option, text, bare_unit=bare_unit) / 1000


def duration_ms(option: str, text: str, *, bare_unit: str | None = None) -> int:
    """A plain number is in `bare_unit`, or is refused."""
    try:
        return parse_duration_ms(text, bare_unit=bare_unit)
    except NotADuration as error:
        raise CommandFailed(f"{option}: {error}", hint=f"write a duration like {DURATION_EXAMPLES}") from error


def iso_duration_ms(option: str, text: str, *, failure: type[CommandFailed] = CommandFailed) -> int:
    """As Kafka's scripts take it."""
    try:
        return parse_iso_duration_ms(text)
    except NotADuration as error:
        raise failure(f"{option}: {error}", hint=f"write {option} P1DT2H30M, or PT10S") from error


def time_ms(option: str, text: str, *, failure: type[CommandFailed] = CommandFailed) -> int:
    """Without a zone it is local time, as in Kafka's scripts."""
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError as error:
        raise failure(
            f"{option}: {text!r} is not a time", hint=f"write {option} 2026-01-31T12:00, or 2026-01-31T12:00:00Z"
        ) from error


def size_bytes(option: str, text: str) -> int:
    try:
        return parse_size_bytes(text)
    except NotASize as error:
        raise CommandFailed(f"{option}: {error}", hint=f"write a size like {SIZE_EXAMPLES}") from error
