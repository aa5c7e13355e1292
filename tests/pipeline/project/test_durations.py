"""Durations in a project's files, as they are shown and as Spark takes them."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.quantities import DURATION_MS_MAX
from barnabas.pipeline.project.durations import Duration, duration


@given(st.integers(1, DURATION_MS_MAX))
def test_what_is_shown_can_be_read(ms: int) -> None:
    assert duration(str(Duration(ms))) == Duration(ms)
    assert duration(Duration(ms).spark) == Duration(ms)
