"""A tenth of what `make soak` does: kills at random moments, on a standalone cluster with speculation."""

import pytest

from barnabas.testing.spark_kills.rounds import run_rounds

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SEED = 20261115
ROUNDS = 5
TIME_S = 45.0
"""No new round starts after that: the machine may be busy with other tests."""


@pytest.mark.timeout(900)
def test_each_row_is_written_once_whatever_is_killed() -> None:
    messages: list[str] = [f"seed {SEED}"]
    result = run_rounds(ROUNDS, SEED, tell=messages.append, deadline_s=TIME_S)
    assert result.is_exact, (result, messages)
    assert result.rounds > 0
