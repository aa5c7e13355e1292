"""Lengths of time as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.project.durations import LONGEST_MS, Duration, NotADuration, duration

GOOD = {
    "500 ms": 500,
    "1 second": 1_000,
    "30 seconds": 30_000,
    "90s": 90_000,
    " 1 Minute ": 60_000,
    "5 mins": 300_000,
    "1 hour 30 minutes": 5_400_000,
    "1h30m": 5_400_000,
    "2 days": 172_800_000,
    "1 week": 604_800_000,
}


@pytest.mark.parametrize("text", GOOD)
def test_what_is_understood(text: str) -> None:
    assert duration(text).ms == GOOD[text]


BAD = {
    "": "`` is not a length of time",
    "   ": "`   ` is not a length of time",
    "30": "`30` has no unit",
    "soon": "`soon` is not a length of time",
    "-1 second": "`-1 second` is not a length of time",
    "1.5 hours": "`1.5 hours` is not a length of time",
    "1 month": "`month` is not a unit of time",
    "1 s, 2 s": "`1 s, 2 s` is not a length of time",
    "99999999999999999999 s": "`99999999999999999999 s` is longer than a century",
    "5300 weeks": "`5300 weeks` is longer than a century",
    "\u0661 second": "`\u0661 second` is not a length of time",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_not(text: str) -> None:
    with pytest.raises(NotADuration) as caught:
        duration(text)
    assert str(caught.value) == BAD[text]


@given(st.integers(1, LONGEST_MS))
def test_what_is_shown_can_be_read(ms: int) -> None:
    assert duration(str(Duration(ms))) == Duration(ms)
    assert duration(Duration(ms).spark) == Duration(ms)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert duration(text).ms >= 0
    except NotADuration:
        return
