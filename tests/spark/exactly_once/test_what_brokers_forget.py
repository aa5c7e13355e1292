"""A batch after real timeouts, restarts, expired ids and pointers, retention, and deleted topics."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from barnabas.client.errors import Refused
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_log import log_bounds, read_log
from barnabas.records.record import decode_records
from barnabas.spark.sink.exactly_once import decisions, steps
from barnabas.spark.sink.exactly_once.entries import WrittenRange
from barnabas.spark.sink.exactly_once.errors import DecisionLost, RecordsGone
from barnabas.spark.sink.exactly_once.names import DECISIONS_TOPIC
from barnabas.spark.sink.exactly_once.roll_forward import aborted_batches
from barnabas.testing import Broker
from barnabas.testing.simulated_query import PARTITIONS, Crash, SimulatedQuery, at, crash_at, rows_of
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


def expected(batches: int) -> Counter[str]:
    return Counter(row for batch_id in range(batches) for row in rows_of(batch_id))


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def decided_and_dead(query: SimulatedQuery, batch_id: int = 0, tasks: int = 3) -> None:
    with pytest.raises(Crash):
        query.run_batch(batch_id, rows_of(batch_id), tasks, crash_at(steps.DECIDED))


def delete_group(query: SimulatedQuery) -> None:
    request = DeleteGroupsRequest(groups_names=(query.names.group,))
    answer = query.cluster.at_coordinator(query.names.group, "delete_groups", request)
    assert answer.results[0].error_code == ErrorCode.none


class TestThePointerExpires:
    """Group offsets do after a week without commits; here they are deleted."""

    def test_the_decision_is_found_in_its_topic(self, query: SimulatedQuery) -> None:
        query.run_batch(0, rows_of(0), 3)
        decided_and_dead(query, 1)
        delete_group(query)
        query.run_batch(1, rows_of(1), 2)
        query.run_batch(2, rows_of(2), 2)
        assert query.committed() == expected(3)

    def test_what_was_rolled_forward_is_not_rolled_forward_again(self, query: SimulatedQuery) -> None:
        query.run_batch(0, rows_of(0), 3, at(steps.DECIDED, query.time_out))
        delete_group(query)
        query.run_batch(0, rows_of(0), 2)
        assert query.committed() == expected(1)


def test_a_decision_in_many_records(query: SimulatedQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "RANGES_PER_RECORD_MAX", 2)
    query.run_batch(0, rows_of(0), 4)
    decided_and_dead(query, 1, tasks=2)
    query.time_out()
    query.run_batch(1, rows_of(1), 4)
    assert query.committed() == expected(2)


def test_retention_has_overtaken_a_decided_batch(query: SimulatedQuery) -> None:
    """Committed records would have been removed, too."""
    decided_and_dead(query)
    query.time_out()
    places = tuple(
        DeleteRecordsPartition(partition_index=index, offset=log_bounds(query.cluster, query.topic, index)[1])
        for index in range(PARTITIONS)
    )
    for index in range(PARTITIONS):
        query.wait_until_stable(index)
    request = DeleteRecordsRequest(topics=(DeleteRecordsTopic(name=query.topic, partitions=places),))
    node = query.cluster.leader(query.topic, 0)
    query.cluster.call_once("delete_records", request, node=node)
    query.run_batch(0, rows_of(0), 2)
    query.run_batch(1, rows_of(1), 2)
    assert query.committed() == Counter(rows_of(1))


def test_records_that_compaction_has_removed_are_missed(query: SimulatedQuery) -> None:
    report = query.run_task(0, rows_of(0), 0)
    assert report.entry is not None
    query.time_out()
    written = report.entry.ranges[0]
    more = written._replace(record_count=written.record_count + 1)
    with pytest.raises(RecordsGone, match=f"only {written.record_count} of {more.record_count}"):
        list(aborted_batches(query.cluster, report.entry, more))
    beyond = WrittenRange(query.topic, written.partition, 1_000, 1_001, 2)
    with pytest.raises(RecordsGone, match="it ends at offset"):
        list(aborted_batches(query.cluster, report.entry, beyond))


def test_a_topic_that_stamps_records_itself(broker: Broker) -> None:
    query = SimulatedQuery(broker.bootstrap_servers, topic_config={"message.timestamp.type": "LogAppendTime"})
    decided_and_dead(query)
    query.time_out()
    query.run_batch(0, rows_of(0), 2)
    assert query.committed() == expected(1)
    query.close()


def test_copies_keep_keys_values_and_timestamps(query: SimulatedQuery) -> None:
    query.run_batch(0, rows_of(0), 3, at(steps.DECIDED, query.time_out))
    for partition in range(PARTITIONS):
        start, end = log_bounds(query.cluster, query.topic, partition)
        batches = list(read_log(query.cluster, query.topic, partition, start=start, end=end))
        records = [
            [each[1:] for each in decode_records(batch, max_bytes=1 << 20)]
            for batch in batches
            if not batch.header.is_control
        ]
        assert records[: len(records) // 2] == records[len(records) // 2 :]


@pytest.fixture
def fast_expiry_broker() -> Iterator[Broker]:
    """A broker that checks for timed-out transactions and expired ids all the time."""
    properties = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "20",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "20",
    }
    with Broker(properties=properties) as running:
        yield running


def test_transactions_that_really_time_out(fast_expiry_broker: Broker) -> None:
    query = SimulatedQuery(fast_expiry_broker.bootstrap_servers)
    query.timeout_ms = 50
    query.run_batch(0, rows_of(0), 3, at(steps.DRIVER_BEGUN, lambda: wait_for_end_of_all(query)))
    query.timeout_ms = 60_000
    assert steps.ROLLED_FORWARD in query.steps
    decided_and_dead(query, 1)
    query.run_batch(1, rows_of(1), 2)
    assert query.committed() == expected(2)
    query.close()


def wait_for_end_of_all(query: SimulatedQuery) -> None:
    wait_for(lambda: not query.open_transactions(), "transactions do not time out")


def test_ids_that_expired(fast_expiry_broker: Broker) -> None:
    """A query that pauses for longer than transactional ids are kept (a week), then continues."""
    query = SimulatedQuery(fast_expiry_broker.bootstrap_servers)
    with pytest.raises(Crash):
        query.run_batch(0, rows_of(0), 3, crash_at(steps.TASKS_ENDED))
    fast_expiry_broker.properties["transactional.id.expiration.ms"] = "1"
    fast_expiry_broker.restart()
    asked = Transactions(query.cluster)
    entry = query.decided_entries()[0]
    wait_for(
        lambda: asked.commit_all([entry.producer]) == [ErrorCode.invalid_producer_id_mapping], "the id does not expire"
    )
    fast_expiry_broker.properties["transactional.id.expiration.ms"] = "604800000"
    fast_expiry_broker.restart()
    query.run_batch(0, rows_of(0), 2)
    query.run_batch(1, rows_of(1), 2)
    assert query.committed() == expected(2)
    query.close()


@pytest.mark.parametrize("step", [steps.TASK_FLUSHED, *steps.COMMIT_STEPS])
def test_the_broker_restarts(fast_expiry_broker: Broker, step: str) -> None:
    """In one run of the driver: it continues when the broker is back."""
    query = SimulatedQuery(fast_expiry_broker.bootstrap_servers)
    query.run_batch(0, rows_of(0), 3, at(step, fast_expiry_broker.restart))
    query.run_batch(1, rows_of(1), 3)
    assert query.committed() == expected(2)
    query.close()


def test_the_topic_of_decisions_is_deleted(fast_expiry_broker: Broker) -> None:
    query = SimulatedQuery(fast_expiry_broker.bootstrap_servers)
    decided_and_dead(query)
    reports = query.run_tasks(0, rows_of(0), 2)
    assert all(report.is_decided for report in reports)
    delete = DeleteTopicsRequest(topics=(DeleteTopicState(name=DECISIONS_TOPIC),), topic_names=(DECISIONS_TOPIC,))
    query.cluster.call_once("delete_topics", delete)
    with pytest.raises((DecisionLost, Refused)):
        query.commit(0, reports)
    assert query.committed_now() == Counter(), "nothing was made visible that might be doubled"
    query.close()
