"""Kills on a standalone cluster with speculation, of what only a cluster has. `make soak` has 50 rounds.

Kills of driver and broker, which cost a start of Spark, are in `test_spark_steps.py`.
"""

import pytest

from barnabas.testing.spark_kills.rounds import run_rounds

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SEED = 20261196
VICTIMS = {"worker": 1, "executor": 1, "task": 1}
"""The choices of this seed."""


@pytest.mark.timeout(900)
def test_each_row_is_written_once_whatever_is_killed() -> None:
    messages: list[str] = [f"seed {SEED}"]
    result = run_rounds(len(VICTIMS), SEED, tell=messages.append)
    assert result.is_exact, (result, messages)
    assert result.kills == VICTIMS
