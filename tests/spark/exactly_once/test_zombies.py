"""Zombie drivers and tasks."""

from collections import Counter
from contextlib import suppress

import pytest

from barnabas.client.errors import Refused
from barnabas.spark.sink.exactly_once import driver_side, steps
from barnabas.spark.sink.exactly_once.decision_log import DecisionLog
from barnabas.spark.sink.exactly_once.errors import OlderThanDecided
from barnabas.testing.simulated_query import SimulatedQuery, at, rows_of


def expected(batches: int) -> Counter[str]:
    return Counter(row for batch_id in range(batches) for row in rows_of(batch_id))


@pytest.mark.parametrize("goes_on", [False, True], ids=["successor repeats the batch", "successor is a batch ahead"])
@pytest.mark.parametrize("step", [*steps.TASK_STEPS, *steps.COMMIT_STEPS])
def test_an_old_driver_wakes_up_at_each_step(query: SimulatedQuery, step: str, goes_on: bool) -> None:
    """While it was paused there, its successor ran the same batch, or the next one, too."""
    query.run_batch(0, rows_of(0), 3)

    def successor() -> None:
        query.run_batch(1, rows_of(1), 2)
        if goes_on:
            query.run_batch(2, rows_of(2), 2)

    with suppress(Refused, OlderThanDecided):  # it may be fenced, or find its work done
        query.run_batch(1, rows_of(1), 3, at(step, successor))
    for batch_id in range(2 + goes_on, 4):
        query.run_batch(batch_id, rows_of(batch_id), 2)
    assert query.committed() == expected(4)
    assert query.open_transactions() == []


@pytest.mark.parametrize("step", steps.COMMIT_STEPS)
def test_a_zombie_task_takes_over_the_ids_of_its_successors(query: SimulatedQuery, step: str) -> None:
    """An executor of a dead driver, which lost contact when the driver died, writes its old rows."""

    def zombies() -> None:
        for partition_id in range(2):
            query.run_task(1, rows_of(1), partition_id, looks=False)

    query.run_batch(0, rows_of(0), 3)
    query.run_batch(1, rows_of(1), 3, at(step, zombies))
    query.run_batch(2, rows_of(2), 3)
    assert query.committed() == expected(3)
    assert query.open_transactions() == []


def test_a_task_of_a_stage_that_was_submitted_anew_has_its_predecessors_id(query: SimulatedQuery) -> None:
    """Both attempts have number 0; the first one's report got through, the second aborts its transaction."""
    reports = query.run_tasks(0, rows_of(0), 3)
    query.run_task(0, rows_of(0)[0::3], 0)
    query.commit(0, reports)
    assert steps.ROLLED_FORWARD in query.steps
    assert query.committed() == expected(1)


def test_an_older_checkpoint_is_refused(query: SimulatedQuery) -> None:
    for batch_id in range(3):
        query.run_batch(batch_id, rows_of(batch_id), 2)
    with pytest.raises(OlderThanDecided, match="batch 2 was already written"):
        query.run_batch(1, rows_of(1), 2)
    assert query.committed() == expected(3)


class TestBrokenProtocolsAreFound:
    """The same simulation without one step of the protocol: it must detect the error."""

    def test_without_roll_forward_records_are_lost(
        self, query: SimulatedQuery, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(driver_side, "roll_forward", lambda *args: None)
        query.run_batch(0, rows_of(0), 3, at(steps.DECIDED, query.time_out))
        assert query.committed() < expected(1)

    def test_without_the_look_at_the_last_decision_records_are_doubled(
        self, query: SimulatedQuery, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        query.run_batch(0, rows_of(0), 3)
        monkeypatch.setattr(DecisionLog, "last", lambda log: None)
        monkeypatch.setattr(DecisionLog, "peek", lambda log: None)
        query.run_batch(0, rows_of(0), 2)
        assert query.committed() > expected(1)

    def test_without_the_done_record_records_are_doubled(
        self, query: SimulatedQuery, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(DecisionLog, "write_done", lambda log, writer, last: None)
        query.run_batch(0, rows_of(0), 3, at(steps.DECIDED, query.time_out))
        query.run_batch(0, rows_of(0), 3)
        assert query.committed() > expected(1)
