"""A stream's offsets with a real broker, without Spark: the test handles the offsets as Spark does."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from simulated_stream import Query
from source_world import (
    add_partitions,
    delete_records,
    delete_topic,
    numbered,
    remake_topic,
    virtual_broker,
    write,
)

from barnabas.spark.errors import UserError
from barnabas.spark.query.data_loss import DataLost
from barnabas.testing import Broker
from barnabas.testing.client import Client, create_topic

Start = Callable[..., Query]


@pytest.fixture
def start(broker: Broker, barnabas_topic: str) -> Iterator[Start]:
    with ExitStack() as ends:

        def started(bootstrap: str = broker.bootstrap_servers, topic: str = barnabas_topic, **options: str) -> Query:
            query = Query(bootstrap, topic, **options)
            ends.callback(query.close)
            return query

        yield started


@pytest.fixture
def topic(broker: Broker, barnabas_topic: str) -> str:
    broker.create_topic(barnabas_topic)
    return barnabas_topic


@pytest.fixture
def put(broker: Broker, topic: str) -> Callable[..., None]:
    return lambda values, partition=0: write(broker.bootstrap_servers, topic, values, partition=partition)


Put = Callable[..., None]


def test_from_the_beginning_or_from_now_on(start: Start, put: Put) -> None:
    put(numbered(0, 5))
    early, late = start(startingOffsets="earliest"), start()
    assert late.trigger() == []
    assert early.trigger() == numbered(0, 5)
    assert not early.plan()
    assert not late.plan()
    put(numbered(5, 3))
    assert early.trigger() == numbered(5, 3)
    assert late.trigger() == numbered(5, 3)


def test_a_failed_first_batch_begins_where_it_began(start: Start, put: Put) -> None:
    """Spark asks again for initial offsets after a restart, and "latest" has moved meanwhile."""
    put(numbered(0, 5))
    query = start()
    initial = json.dumps(query.stream.begin().as_json())
    put(numbered(5, 4))
    query.log = [json.dumps(query.stream.end_of_batch(json.loads(initial), everything=True))]
    put(numbered(9, 2))
    # The process dies before the batch has run; the next one has only Spark's log.
    query.start()
    assert query.run() == numbered(5, 4)
    query.start()
    assert query.run() == numbered(5, 4)
    query.start()
    assert query.trigger() == numbered(9, 2)
    assert "$from" not in query.log[-1]


def test_an_empty_first_batch_that_failed_begins_where_it_began(start: Start, put: Put) -> None:
    put(numbered(0, 5))
    query = start(minOffsetsPerTrigger="3")
    assert query.plan()
    put(numbered(5, 4))
    query.start()
    assert query.trigger() == []
    assert query.trigger() == numbered(5, 4)


def test_limits_share_out_and_nothing_is_lost_over_restarts(start: Start, put: Put, broker: Broker, topic: str) -> None:
    add_partitions(broker.bootstrap_servers, topic, 2)
    put(numbered(0, 90))
    put(numbered(90, 10), 1)
    query = start(startingOffsets="earliest", maxOffsetsPerTrigger="20")
    sizes = []
    while rows := query.trigger():
        sizes.append(len(rows))
        query.start()
    # 18 and 2 of each, as the connector rounds.
    assert sizes == [20, 20, 20, 20, 20]
    assert sorted(query.rows) == sorted(numbered(0, 100))


def test_everything_means_everything(start: Start, put: Put) -> None:
    put(numbered(0, 50))
    query = start(startingOffsets="earliest", maxOffsetsPerTrigger="20")
    assert query.trigger(everything=True) == numbered(0, 50)


def test_small_batches_wait(start: Start, put: Put) -> None:
    query = start(
        startingOffsets="earliest", minOffsetsPerTrigger="10", maxOffsetsPerTrigger="12", maxTriggerDelay="60s"
    )
    put(numbered(0, 3))
    assert query.trigger() == numbered(0, 3)  # the first does not wait
    put(numbered(3, 9))
    assert query.trigger() == []
    put(numbered(12, 10))
    assert query.trigger() == numbered(3, 12)
    query.now_s += 59
    assert query.trigger() == []
    query.now_s += 1
    assert query.trigger() == numbered(15, 7)


def test_new_partitions_are_read_from_their_first_record(start: Start, put: Put, broker: Broker, topic: str) -> None:
    put(numbered(0, 5))
    query = start(maxOffsetsPerTrigger="100")
    assert query.trigger() == []
    add_partitions(broker.bootstrap_servers, topic, 3)
    put(numbered(5, 2))
    put(numbered(7, 4), 1)
    assert sorted(query.trigger()) == sorted(numbered(5, 6))
    put(numbered(11, 1), 2)
    assert query.trigger() == numbered(11, 1)


def test_a_new_topic_that_matches_is_read_from_its_first_record(
    start: Start, broker: Broker, barnabas_topic: str
) -> None:
    query = start(subscribePattern=f"^{barnabas_topic}-")
    assert query.trigger() == []
    broker.create_topic(f"{barnabas_topic}-a")
    write(broker.bootstrap_servers, f"{barnabas_topic}-a", numbered(0, 3))
    assert query.trigger() == numbered(0, 3)
    delete_topic(broker.bootstrap_servers, f"{barnabas_topic}-a")
    with pytest.raises(DataLost, match="no longer exists"):
        query.trigger()
    query.start(failOnDataLoss="false")
    assert query.trigger() == []
    assert query.offsets() == {}


def test_retention_under_the_query(
    start: Start, put: Put, broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(numbered(0, 10))
    query = start(startingOffsets="earliest")
    assert query.trigger() == numbered(0, 10)
    put(numbered(10, 20))
    delete_records(broker.bootstrap_servers, topic, 0, 15)
    query.start()
    with pytest.raises(DataLost, match="Up to 5 records were gone") as stopped:
        query.trigger()
    assert 'option("failOnDataLoss", "false")' in str(stopped.value)
    query.start(failOnDataLoss="false")
    assert query.trigger() == numbered(15, 15)
    assert "Up to 5 records were gone" in caplog.text
    assert query.trigger() == []


def test_retention_under_a_query_that_runs_is_noticed_by_its_tasks(
    start: Start, put: Put, broker: Broker, topic: str
) -> None:
    query = start(startingOffsets="earliest")
    put(numbered(0, 1))
    assert query.trigger() == numbered(0, 1)
    put(numbered(1, 9))
    assert query.plan()
    delete_records(broker.bootstrap_servers, topic, 0, 6)
    with pytest.raises(DataLost, match="Up to 5 records were gone"):
        query.run()


def test_a_topic_that_was_made_again_is_noticed_though_it_is_longer(
    start: Start, put: Put, broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(numbered(0, 5))
    query = start(startingOffsets="earliest")
    assert query.trigger() == numbered(0, 5)
    remake_topic(broker, topic)
    put(numbered(100, 8))
    with pytest.raises(DataLost, match="deleted and created again"):
        query.trigger()
    query.start(failOnDataLoss="false")
    assert query.trigger() == numbered(100, 8)
    assert "deleted and created again" in caplog.text
    assert query.trigger() == []
    put(numbered(108, 1))
    assert query.trigger() == numbered(108, 1)


def test_a_planned_batch_of_a_topic_that_was_made_again_reads_nothing_of_it(
    start: Start, put: Put, broker: Broker, topic: str
) -> None:
    put(numbered(0, 5))
    query = start(startingOffsets="earliest", failOnDataLoss="false")
    assert query.plan()
    remake_topic(broker, topic)
    put(numbered(100, 8))
    query.start()
    assert query.trigger() == []
    assert query.trigger() == numbered(100, 8)


def test_a_deleted_topic_stops_the_query_or_leaves_it(start: Start, put: Put, broker: Broker, topic: str) -> None:
    put(numbered(0, 5))
    query = start(startingOffsets="earliest")
    assert query.trigger() == numbered(0, 5)
    delete_topic(broker.bootstrap_servers, topic)
    with pytest.raises(DataLost, match="no longer exists"):
        query.trigger()
    query.start(failOnDataLoss="false")
    assert query.trigger() == []
    broker.create_topic(topic)
    put(numbered(5, 2))
    assert query.trigger() == numbered(5, 2)


def test_a_new_query_on_a_topic_that_is_not_there_is_refused(start: Start) -> None:
    with pytest.raises(UserError, match="There is no topic"):
        start().trigger()


def test_the_broker_restarts(start: Start, barnabas_topic: str) -> None:
    with Broker() as broker:
        broker.create_topic(barnabas_topic)
        write(broker.bootstrap_servers, barnabas_topic, numbered(0, 5))
        query = start(broker.bootstrap_servers, startingOffsets="earliest")
        assert query.trigger() == numbered(0, 5)
        broker.restart()
        assert query.trigger() == []
        write(broker.bootstrap_servers, barnabas_topic, numbered(5, 5))
        assert query.plan()
        broker.restart()
        assert query.run() == numbered(5, 5)


def test_available_now_that_begins_at_the_end_of_a_busy_topic(start: Start, put: Put) -> None:
    """Spark asks where it ends first, and then where it begins: records may come in between."""
    put(numbered(0, 5))
    query = start()
    query.stream.stop_at_current_end()
    put(numbered(5, 3))
    assert query.drain() == []
    query.start()
    query.stream.stop_at_current_end()
    assert query.drain() == [numbered(5, 3)]


def test_available_now_stops_at_what_was_there_also_over_restarts(
    start: Start, put: Put, broker: Broker, topic: str
) -> None:
    put(numbered(0, 25))
    query = start(startingOffsets="earliest", maxOffsetsPerTrigger="10", minOffsetsPerTrigger="10")
    query.stream.stop_at_current_end()
    put(numbered(25, 5))
    assert query.trigger() == numbered(0, 10)
    assert query.plan()
    query.start()  # dies with a batch written down
    query.stream.stop_at_current_end()
    add_partitions(broker.bootstrap_servers, topic, 2)
    put(numbered(30, 5), 1)
    assert query.trigger() == numbered(10, 10)
    assert query.drain() == [numbered(20, 10)]
    query.start()
    query.stream.stop_at_current_end()
    assert query.drain() == [numbered(30, 5)]
    assert query.drain() == []


def test_a_checkpoint_is_resumed_after_a_week_of_retention(start: Start) -> None:
    day_ms = 24 * 3600 * 1000
    with virtual_broker() as broker:
        host, _, port = broker.bootstrap_servers.partition(":")
        with Client(host, int(port)) as client:
            create_topic(client, "t", config={"retention.ms": str(3 * day_ms), "segment.ms": str(day_ms)})

        def put(number: int) -> None:
            write(broker.bootstrap_servers, "t", numbered(number, 1), timestamp=broker.clock.now_ms())

        put(0)
        query = start(broker.bootstrap_servers, "t", startingOffsets="earliest")
        assert query.trigger() == numbered(0, 1)
        for number in range(1, 8):
            broker.elapse(day_ms)
            put(number)
        broker.elapse(3600 * 1000)
        query.start()
        with pytest.raises(DataLost, match="deleted by retention"):
            query.trigger()
        query.start(failOnDataLoss="false")
        left = query.trigger()
        assert left == numbered(8 - len(left), len(left))
        assert 3 <= len(left) <= 5
        assert query.trigger() == []


def test_the_latest_offsets_are_known_for_lag(start: Start, put: Put, topic: str) -> None:
    query = start(startingOffsets="earliest", maxOffsetsPerTrigger="3")
    assert query.stream.latest() is None
    put(numbered(0, 9))
    query.trigger()
    assert query.stream.latest() == {topic: {"0": 9}}
    assert query.offsets() == {topic: {"0": 3}}


def test_starting_offsets_of_partitions_may_be_earliest_and_latest(
    start: Start, put: Put, broker: Broker, topic: str
) -> None:
    add_partitions(broker.bootstrap_servers, topic, 3)
    for partition in range(3):
        put(numbered(10 * partition, 4), partition)
    offsets = json.dumps({topic: {"0": -2, "1": -1, "2": 3}})
    query = start(startingOffsets=offsets)
    assert sorted(query.trigger()) == sorted([*numbered(0, 4), *numbered(23, 1)])


def test_a_new_query_cannot_start_behind_the_end(start: Start, put: Put, topic: str) -> None:
    put(numbered(0, 4))
    offsets = json.dumps({topic: {"0": 5000}})
    with pytest.raises(UserError, match=f"start at offset 5000 of {topic}-0, which ends at 4"):
        start(startingOffsets=offsets).trigger()
    query = start(startingOffsets=offsets, failOnDataLoss="false")
    assert query.trigger() == []
    put(numbered(4, 1))
    assert query.trigger() == numbered(4, 1)


def test_a_checkpoint_of_the_jvm_connector_is_taken_over(start: Start, put: Put, topic: str) -> None:
    put(numbered(0, 9))
    query = start()
    query.log = [json.dumps({topic: {"0": 9}})]
    assert not query.plan()  # offsets that are the same but for our notes are nothing new
    query.log = [json.dumps({topic: {"0": 3}})]
    assert query.trigger() == numbered(3, 6)
    assert not query.plan()
