"""Settings with units, as `--config`, `--set` and `--client-config` take them."""

import pytest

from barnabas.cli.pairs import parse_settings


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("retention.ms=7d", "604800000"),
        ("retention.ms=604800000", "604800000"),
        ("retention.ms=-1", "-1"),
        ("retention.ms=", ""),
        ("log.retention.minutes=2h", "120"),
        ("log.retention.hours=7d", "168"),
        ("log.retention.hours=48", "48"),
        ("segment.bytes=100MB", "100000000"),
        ("segment.bytes=1GiB", "1073741824"),
        ("segment.bytes=1048576", "1048576"),
        ("log.cleaner.dedupe.buffer.size=64MiB", "67108864"),
        ("cleanup.policy=compact", "compact"),
        ("compression.type=1h", "1h"),
    ],
)
def test_units(typed: str, meant: str) -> None:
    assert parse_settings("--config", [typed]) == {typed.partition("=")[0]: meant}


def test_later_ones_win() -> None:
    assert parse_settings("--set", ["a=1", "b=x=y", "a=2"]) == {"a": "2", "b": "x=y"}
    assert parse_settings("--set", None) == {}
