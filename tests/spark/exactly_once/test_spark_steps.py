"""Kills at named steps of a real query: a task, the broker, and the driver. `make soak` has them all."""

import pytest

from barnabas.spark.sink.exactly_once import steps
from barnabas.testing.spark_kills.named_steps import SHORT, run_lives

pytestmark = pytest.mark.spark


@pytest.mark.timeout(600)
def test_a_query_that_is_killed_at_named_steps_writes_each_row_once() -> None:
    messages: list[str] = []
    result = run_lives([SHORT], messages.append)
    assert result.is_exact, messages
    assert result.steps[steps.ROLLED_FORWARD] >= 1, result.steps
