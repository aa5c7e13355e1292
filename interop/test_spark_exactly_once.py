"""The exactly-once sink on Apache Kafka: the whole protocol without Spark, and a real query that is killed.

Kafka's coordinator differs from ours: in its answers to late, repeated and fenced requests, in the epochs of its
markers, and in when it writes them.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest
from kafka_server import KafkaServer
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.client.errors import Refused
from barnabas.spark.sink.exactly_once import steps
from barnabas.spark.sink.exactly_once.errors import OlderThanDecided
from barnabas.testing.simulated_query import Crash, SimulatedQuery, at, crash_at, rows_of
from barnabas.testing.spark_kills.named_steps import DriverRun, run_lives
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

SEED = 5
_SAFE_DOWNGRADE = 2
_IMPATIENT = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "log.retention.check.interval.ms": "1000",
}


@pytest.fixture(scope="module", params=[2, 1], ids=["transaction.version=2", "transaction.version=1"])
def server(
    request: pytest.FixtureRequest, peers: Peers, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaServer]:
    home = tmp_path_factory.mktemp("kafka")
    kafka = KafkaServer(peers, home / "data", home / "kafka", properties=_IMPATIENT)
    kafka.format(tools)
    with kafka:
        if request.param != 2:
            update = FeatureUpdateKey(
                feature="transaction.version", max_version_level=request.param, upgrade_type=_SAFE_DOWNGRADE
            )
            query = SimulatedQuery(kafka.bootstrap_servers)
            answer = query.cluster.call_once("update_features", UpdateFeaturesRequest(feature_updates=(update,)))
            assert answer.error_code.name == "none", answer
            query.close()
        yield kafka


@pytest.fixture
def query(server: KafkaServer) -> Iterator[SimulatedQuery]:
    simulated = SimulatedQuery(server.bootstrap_servers)
    yield simulated
    simulated.close()


def finish(query: SimulatedQuery) -> None:
    for batch_id in (1, 2):
        query.run_batch(batch_id, rows_of(batch_id), 2)
    assert query.committed() == Counter(row for batch_id in range(3) for row in rows_of(batch_id))
    assert query.open_transactions() == []


@pytest.mark.parametrize("timed_out", ["none", "some"])
@pytest.mark.parametrize("step", [*steps.TASK_STEPS, *steps.COMMIT_STEPS])
def test_a_driver_dies_at_each_step(query: SimulatedQuery, step: str, timed_out: str) -> None:
    query.run_batch(0, rows_of(0), 3)
    with pytest.raises(Crash, match=step):
        query.run_batch(1, rows_of(1), 3, crash_at(step))
    if timed_out == "some":
        query.time_out(Random(SEED))
    finish(query)


@pytest.mark.parametrize("step", steps.ROLL_FORWARD_STEPS)
def test_it_dies_again_while_it_mends_what_was_aborted(query: SimulatedQuery, step: str) -> None:
    query.run_batch(0, rows_of(0), 3)
    with pytest.raises(Crash):
        query.run_batch(1, rows_of(1), 3, crash_at(steps.DECIDED))
    query.time_out()
    with pytest.raises(Crash, match=step):
        query.run_batch(1, rows_of(1), 2, crash_at(step))
    finish(query)


@pytest.mark.parametrize("step", [steps.TASK_FLUSHED, steps.DRIVER_LOOKED, steps.POINTER_WRITTEN, steps.DECIDED])
def test_an_old_driver_wakes_up(query: SimulatedQuery, step: str) -> None:
    query.run_batch(0, rows_of(0), 3)
    with suppress(Refused, OlderThanDecided):
        query.run_batch(1, rows_of(1), 3, at(step, lambda: query.run_batch(1, rows_of(1), 2)))
    finish(query)


def test_transactions_that_really_time_out(query: SimulatedQuery) -> None:
    """Kafka's markers of a timeout may have another epoch than those of a fenced producer."""
    query.run_batch(0, rows_of(0), 3)
    query.timeout_ms = 200
    reports = query.run_tasks(1, rows_of(1), 3)
    query.timeout_ms = 60_000
    retry = query.cluster.retry_policy()
    while query.open_transactions():
        assert retry.wait(), "Kafka does not time transactions out"
    query.commit(1, reports)
    assert steps.ROLLED_FORWARD in query.steps
    finish(query)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("server", [2], indirect=True, ids=["transaction.version=2"])
def test_a_query_that_is_killed_at_named_steps_writes_each_row_once(server: KafkaServer) -> None:
    life = DriverRun(((steps.TASK_WRITING, "self"), (steps.DECIDED, "driver")), times_out=True)
    result = run_lives([life], server=server)
    assert result.is_exact
    assert result.steps[steps.ROLLED_FORWARD] >= 1
