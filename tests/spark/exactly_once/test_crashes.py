"""A driver dies at every named step, with or without timed-out transactions, and is restarted."""

from collections import Counter
from random import Random

import pytest

from barnabas.client.transaction_log import log_bounds
from barnabas.spark.sink.exactly_once import steps
from barnabas.testing import Broker
from barnabas.testing.simulated_query import Crash, SimulatedQuery, at, crash_at, rows_of

TASKS_BEFORE, TASKS_AFTER = 3, 2
SEED = 11
DECIDING = (steps.DECISION_WRITTEN, steps.POINTER_WRITTEN, steps.DECIDED)
"""Steps that are skipped if there is a decision already."""


def expected(batches: int) -> Counter[str]:
    return Counter(row for batch_id in range(batches) for row in rows_of(batch_id))


def time_out(query: SimulatedQuery, how: str, seed: int) -> None:
    if how != "none":
        query.time_out(Random(seed) if how == "some" else None)


def finish(query: SimulatedQuery, *, batches: int = 3) -> None:
    """The restarted driver runs batch 1 again, with another number of tasks, and continues."""
    for batch_id in range(1, batches):
        query.run_batch(batch_id, rows_of(batch_id), TASKS_AFTER)
    assert query.committed() == expected(batches)
    assert query.open_transactions() == [], "readers of committed records would have to wait"


def test_all_goes_well(query: SimulatedQuery) -> None:
    query.run_batch(0, rows_of(0), TASKS_BEFORE)
    finish(query)
    assert set(query.steps) == {*steps.TASK_STEPS, *steps.COMMIT_STEPS}


@pytest.mark.parametrize("timed_out", ["none", "all", "some"])
@pytest.mark.parametrize("step", [*steps.TASK_STEPS, *steps.COMMIT_STEPS])
def test_a_driver_dies_at_each_step(query: SimulatedQuery, step: str, timed_out: str) -> None:
    query.run_batch(0, rows_of(0), TASKS_BEFORE)
    occurrence = 2 if step in steps.TASK_STEPS else 1
    with pytest.raises(Crash, match=step):
        query.run_batch(1, rows_of(1), TASKS_BEFORE, crash_at(step, occurrence))
    time_out(query, timed_out, SEED)
    finish(query)


@pytest.mark.parametrize(
    "second", [*(step for step in steps.COMMIT_STEPS if step not in DECIDING), *steps.ROLL_FORWARD_STEPS]
)
@pytest.mark.parametrize("timed_out", ["all", "some"])
def test_it_dies_again_while_it_mends_what_was_aborted(query: SimulatedQuery, second: str, timed_out: str) -> None:
    query.run_batch(0, rows_of(0), TASKS_BEFORE)
    with pytest.raises(Crash):
        query.run_batch(1, rows_of(1), TASKS_BEFORE, crash_at(steps.DECIDED))
    time_out(query, timed_out, SEED)
    with pytest.raises(Crash, match=second):
        query.run_batch(1, rows_of(1), TASKS_AFTER, crash_at(second))
    time_out(query, "all", SEED)
    finish(query)


@pytest.mark.parametrize("when", [steps.DRIVER_BEGUN, steps.DECISION_WRITTEN, steps.DECIDED])
@pytest.mark.parametrize("timed_out", ["all", "some"])
def test_tasks_time_out_while_the_driver_works(query: SimulatedQuery, when: str, timed_out: str) -> None:
    """Before the decision as well: a task may have ended long before the last one has."""
    query.run_batch(0, rows_of(0), TASKS_BEFORE)
    random = Random(SEED)

    def lose_tasks() -> None:
        chosen = query.open_transactions()
        for each in chosen:
            if each.startswith(query.names.task_prefix) and (timed_out == "all" or random.random() < 0.5):
                query.abandon(each)

    query.run_batch(1, rows_of(1), TASKS_BEFORE, at(when, lose_tasks))
    assert steps.ROLLED_FORWARD in query.steps
    finish(query)


def test_a_task_fails_and_is_tried_again(query: SimulatedQuery) -> None:
    rows = rows_of(0)
    reports = query.run_tasks(0, rows[: len(rows) // 2], 2)
    for step in steps.TASK_STEPS:
        with pytest.raises(Crash):
            query.run_task(0, rows[len(rows) // 2 :], 2, crash_at(step))
    reports.append(query.run_task(0, rows[len(rows) // 2 :], 2, attempt=1))
    query.commit(0, reports)
    assert query.committed() == expected(1)
    assert query.open_transactions() == []


def test_speculation_leaves_nothing_open(query: SimulatedQuery) -> None:
    """Two attempts of each task finish; the driver gets the report of one of each."""
    first = query.run_tasks(0, rows_of(0), 3)
    second = query.run_tasks(0, rows_of(0), 3, attempt=1)
    query.commit(0, [first[0], second[1], first[2]])
    assert query.committed() == expected(1)
    assert query.open_transactions() == []
    for partition in range(3):
        query.wait_until_stable(partition)


def test_abort_ends_what_is_open_unless_it_is_decided(query: SimulatedQuery) -> None:
    query.run_tasks(0, rows_of(0), 3)
    query.abort(0)
    assert query.open_transactions() == []
    with pytest.raises(Crash):
        query.run_batch(0, rows_of(0), 3, crash_at(steps.DECIDED))
    query.abort(0)
    assert len(query.open_transactions()) == 3, "these belong to a batch that exists"
    query.run_batch(0, rows_of(0), 2)
    assert query.committed() == expected(1)


def test_batches_without_rows(query: SimulatedQuery) -> None:
    query.run_batch(0, [], 2)
    assert query.committed() == Counter()
    query.run_batch(1, rows_of(1), 2)
    query.run_batch(2, [], 1)
    with pytest.raises(Crash):
        query.run_batch(3, rows_of(3), 2, crash_at(steps.DECIDED))
    # The retried batch has no rows; the decided one is finished all the same.
    query.commit(3, [query.run_task(3, [], 0, looks=False)])
    assert query.committed() == Counter([*rows_of(1), *rows_of(3)])


def test_two_queries_write_to_one_topic(broker: Broker, query: SimulatedQuery) -> None:
    other = SimulatedQuery(broker.bootstrap_servers)
    other.topic = query.topic
    try:
        with pytest.raises(Crash):
            query.run_batch(0, rows_of(0), 3, crash_at(steps.DECISION_WRITTEN))
        with pytest.raises(Crash):
            other.run_batch(0, ["other"], 1, crash_at(steps.DECIDED))
        other.run_batch(0, ["other"], 1)
        query.time_out()
        query.run_batch(0, rows_of(0), 3)
        assert query.committed() == expected(1) + Counter(["other"])
    finally:
        other.close()


def test_nothing_holds_readers_back_in_the_end(query: SimulatedQuery) -> None:
    with pytest.raises(Crash):
        query.run_batch(0, rows_of(0), 4, crash_at(steps.TASK_FLUSHED, 4))
    query.run_batch(0, rows_of(0), 1)
    for partition in range(3):
        query.wait_until_stable(partition)
        assert log_bounds(query.cluster, query.topic, partition)[1] > 0
