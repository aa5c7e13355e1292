"""Durations and sizes as people write them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.quantities import (
    DURATION_MS_MAX,
    SIZE_BYTES_MAX,
    NotADuration,
    NotASize,
    duration_in_words,
    parse_duration_ms,
    parse_iso_duration_ms,
    parse_size_bytes,
)

DURATIONS = {
    "500 ms": 500,
    "1500us": 1,
    "1 second": 1_000,
    "30 seconds": 30_000,
    "90s": 90_000,
    " 1 Minute ": 60_000,
    "5 mins": 300_000,
    "15M": 900_000,
    "1.5 hours": 5_400_000,
    "0.1s": 100,
    "1 hour 30 minutes": 5_400_000,
    "1h30m": 5_400_000,
    "2 days": 172_800_000,
    "1 week": 604_800_000,
    "1y": 31_557_600_000,
}


@pytest.mark.parametrize("text", DURATIONS)
def test_durations(text: str) -> None:
    assert parse_duration_ms(text) == DURATIONS[text]


@pytest.mark.parametrize(("text", "expected_ms"), [("5", 5_000), (" 0.25 ", 250), ("5 ms", 5)])
def test_a_number_alone_has_the_unit_of_who_asks(text: str, expected_ms: int) -> None:
    assert parse_duration_ms(text, bare_unit="s") == expected_ms


NO_DURATIONS = {
    "": "`` is not a duration",
    "   ": "`   ` is not a duration",
    "30": "`30` has no unit",
    "soon": "`soon` is not a duration",
    "-1 second": "`-1 second` is not a duration",
    "1 month": "`month` is not a unit of time",
    "1 s, 2 s": "`1 s, 2 s` is not a duration",
    "1 h 30": "`1 h 30` has no unit",
    "99999999999999999999 s": "`99999999999999999999 s` is longer than a century",
    "5300 weeks": "`5300 weeks` is longer than a century",
    "\u0661 second": "`\u0661 second` is not a duration",
}


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(NotADuration) as caught:
        parse_duration_ms(text)
    assert str(caught.value) == NO_DURATIONS[text]


@given(st.integers(1, DURATION_MS_MAX))
def test_what_is_shown_can_be_read(duration_ms: int) -> None:
    assert parse_duration_ms(duration_in_words(duration_ms)) == duration_ms


SIZES = {
    "0": 0,
    "7": 7,
    "7B": 7,
    "2MB": 2_000_000,
    "1 GiB": 1 << 30,
    "1.5kib": 1536,
    "9223372036854775807": SIZE_BYTES_MAX,
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    assert parse_size_bytes(text) == SIZES[text]


NO_SIZES = {
    "": "`` is not a size",
    "-1": "`-1` is not a size",
    "1MB 2KB": "`1MB 2KB` is not a size",
    "1 G": "`G` is not a unit of size",
    "9223372036854775808": "`9223372036854775808` is too large",
    "9" * 5000: f"`{'9' * 5000}` is too large",
}


@pytest.mark.parametrize("text", NO_SIZES)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(NotASize) as caught:
        parse_size_bytes(text)
    assert str(caught.value) == NO_SIZES[text]


ISO_DURATIONS = {
    "PT0S": 0,
    "P1DT2H3M4.5S": 93_784_500,
    "-PT1S": -1000,
    "PT-1.5S": -1500,
    "pt1m": 60_000,
    "P2D": 172_800_000,
    "PT0.0019S": 1,
}


@pytest.mark.parametrize("text", ISO_DURATIONS)
def test_durations_of_java(text: str) -> None:
    assert parse_iso_duration_ms(text) == ISO_DURATIONS[text]


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "P1H", "PT1H30", "PT\u0661S", "PT" + "9" * 5000 + "S"])
def test_what_is_no_duration_of_java(text: str) -> None:
    with pytest.raises(NotADuration):
        parse_iso_duration_ms(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse, refusal in ((parse_duration_ms, NotADuration), (parse_size_bytes, NotASize)):
        with contextlib.suppress(refusal):
            assert parse(text) >= 0
