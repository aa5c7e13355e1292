"""Durations and times in options: what is read, and errors that name the option."""

import pytest

from barnabas.cli.errors import CommandFailed, WrongUsage
from barnabas.cli.quantities import iso_duration_ms, time_ms


@pytest.mark.parametrize(
    ("text", "expected_ms"), [("PT0S", 0), ("P1DT2H3M4.5S", 93_784_500), ("-PT1S", -1000), ("pt1m", 60_000)]
)
def test_durations_of_kafkas_scripts(text: str, expected_ms: int) -> None:
    assert iso_duration_ms("--by-duration", text) == expected_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "1D", "P1H"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(WrongUsage, match=r"--by-duration: `.*` is not a duration"):
        iso_duration_ms("--by-duration", text, failure=WrongUsage)


def test_times() -> None:
    assert time_ms("--to-datetime", "1970-01-01T00:00:01Z") == 1000
    assert time_ms("--to-datetime", "1970-01-01T01:00:00+01:00") == 0
    assert time_ms("--to-datetime", "2026-01-31T12:00:00.250Z") == 1_769_860_800_250
    with pytest.raises(CommandFailed, match="--to-datetime: 'yesterday' is not a time"):
        time_ms("--to-datetime", "yesterday")
