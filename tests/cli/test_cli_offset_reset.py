"""The target offsets of a reset, and the errors when there are none."""

import pytest

from barnabas.cli.errors import CommandFailed
from barnabas.cli.offset_reset import Target


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target("earliest"), 10),
        (Target("latest"), 50),
        (Target("offset", 33), 33),
        (Target("offset", 3), 10),
        (Target("offset", 99), 50),
        (Target("shift", 5), 25),
        (Target("shift", -5), 15),
        (Target("shift", -500), 10),
        (Target("shift", 500), 50),
        (Target("datetime", 1), 42),
    ],
)
def test_the_new_offset_stays_inside_the_log(target: Target, expected: int) -> None:
    assert target.offset(start=10, end=50, current=20, at_time=42) == expected


def test_a_time_after_the_last_record_is_the_end() -> None:
    assert Target("datetime", 1).offset(start=10, end=50, current=None, at_time=None) == 50


def test_nothing_committed_cannot_be_shifted() -> None:
    with pytest.raises(CommandFailed, match="nothing to shift from"):
        Target("shift", 1).offset(start=0, end=1, current=None, at_time=None)


def test_exactly_one_target_is_wanted() -> None:
    assert Target.from_options(False, False, 0, None, None) == Target("offset", 0)
    assert Target.from_options(False, False, None, None, -3) == Target("shift", -3)
    for options in ((False, False, None, None, None), (True, True, None, None, None), (True, False, 0, None, None)):
        with pytest.raises(CommandFailed, match=r"new position is given"):
            Target.from_options(*options)
