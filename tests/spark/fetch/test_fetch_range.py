"""Reading ranges of offsets from a real broker."""

import datetime
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.properties import client_settings
from barnabas.client.settings import READ_COMMITTED, READ_UNCOMMITTED
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.records.compression import Codec
from barnabas.records.record import Record, build_batch
from barnabas.spark.arrow.decode import Limits, UnreadableRecords
from barnabas.spark.query.data_loss import Cause, DataLost, Loss
from barnabas.spark.source.fetch import FetchSettings, read_range
from barnabas.spark.source.ranges import OffsetRange
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

IMPATIENT = FetchSettings(poll_timeout_ms=500, max_wait_ms=50)
Rows = list[tuple[int, bytes | None]]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def connected(broker: Broker) -> Cluster:
    return Cluster(client_settings({"bootstrap.servers": broker.bootstrap_servers}))


@pytest.fixture
def cluster(broker: Broker) -> Iterator[Cluster]:
    with connected(broker) as cluster:
        yield cluster


def produce(cluster: Cluster, topic: str, batch: bytes) -> int:
    """Where the batch begins."""
    found = cluster.topics([topic])[topic]
    data = TopicProduceData(
        name=topic, topic_id=found.topic_id, partition_data=(PartitionProduceData(index=0, records=batch),)
    )
    answer = cluster.call("produce", ProduceRequest(acks=-1, topic_data=(data,)), node=cluster.leader(topic, 0))
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code is ErrorCode.none
    return int(partition.base_offset)


def fill(cluster: Cluster, topic: str, batches: int, records: int = 10) -> Rows:
    """Write batches with every codec in rotation; returns their records."""
    rows: Rows = []
    for number in range(batches):
        content = [Record(timestamp=number, value=b"%d-%d" % (number, index)) for index in range(records)]
        first = produce(cluster, topic, build_batch(content, codec=list(Codec)[number % len(Codec)]))
        rows += [(first + index, record.value) for index, record in enumerate(content)]
    return rows


def delete_before(cluster: Cluster, topic: str, offset: int) -> None:
    partitions = (DeleteRecordsPartition(partition_index=0, offset=offset),)
    request = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=topic, partitions=partitions),), timeout=datetime.timedelta(seconds=10)
    )
    answer = cluster.call("delete_records", request, node=cluster.leader(topic, 0))
    assert answer.topics[0].partitions[0].error_code is ErrorCode.none


def delete_topic(cluster: Cluster, topic: str) -> None:
    request = DeleteTopicsRequest(
        topics=(DeleteTopicState(name=topic),), topic_names=(topic,), timeout=datetime.timedelta(seconds=10)
    )
    assert cluster.call("delete_topics", request).responses[0].error_code is ErrorCode.none


def batches_of(cluster: Cluster, range: OffsetRange, *, committed: bool = False, **options: Any) -> Iterator[Any]:
    return read_range(
        cluster,
        range,
        isolation_level=READ_COMMITTED if committed else READ_UNCOMMITTED,
        **{"columns": ("offset", "value"), "fail_on_data_loss": True, **options},
    )


def rows_of(batch: Any) -> Rows:
    return list(zip(batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True))


def read(cluster: Cluster, topic: str, start: int, end: int, **options: Any) -> Rows:
    found = batches_of(cluster, OffsetRange(topic, 0, start, end), **options)
    return [row for batch in found for row in rows_of(batch)]


def test_ranges_are_exact_at_both_ends_over_many_small_fetches(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("many")
    expected = fill(cluster, "many", 40, 25)
    small = FetchSettings(max_bytes=1000, partition_max_bytes=1000)
    for start, end in ((0, 1000), (0, 1), (999, 1000), (37, 38), (37, 613), (25, 50), (5, 5)):
        assert read(cluster, "many", start, end) == expected[start:end]
        assert read(cluster, "many", start, end, fetch=small) == expected[start:end]


def test_a_batch_larger_than_every_limit_is_read_in_bounded_pieces(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("large")
    content = [Record(timestamp=0, value=b"%05d" % number * 20) for number in range(5000)]
    for codec in (Codec.NONE, Codec.ZSTD):
        produce(cluster, "large", build_batch(content, codec=codec))
    fetch = FetchSettings(max_bytes=100, partition_max_bytes=100, limits=Limits(rows=700, bytes=1000))
    found = list(batches_of(cluster, OffsetRange("large", 0, 10, 9990), fetch=fetch))
    assert max(len(batch) for batch in found) <= 700
    expected = [(index, content[index % 5000].value) for index in range(10, 9990)]
    assert [row for batch in found for row in rows_of(batch)] == expected


def test_what_decompresses_to_more_than_is_allowed_is_refused(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("bomb")
    produce(cluster, "bomb", build_batch([Record(timestamp=0, value=bytes(500_000))], codec=Codec.ZSTD))
    with pytest.raises(UnreadableRecords, match=r"bomb-0 from offset 0 .*more than 100000 bytes"):
        read(cluster, "bomb", 0, 1, fetch=FetchSettings(limits=Limits(batch_bytes=100_000)))


def test_timestamps_bound_what_is_read(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("times")
    rows = fill(cluster, "times", 10)  # batch n has timestamp n
    assert read(cluster, "times", 0, 100, timestamp_ms=(3, 5)) == rows[30:50]
    assert read(cluster, "times", 0, 35, timestamp_ms=(3, None)) == rows[30:35]
    assert read(cluster, "times", 0, 100, timestamp_ms=(None, 1)) == rows[:10]
    assert read(cluster, "times", 0, 100, timestamp_ms=(50, None)) == []


def test_aborted_records_and_markers_are_left_out_wherever_a_range_begins_and_ends(
    broker: Broker, cluster: Cluster
) -> None:
    broker.create_topic("transactions")
    transactions = Transactions(cluster)
    producer = transactions.take_over("writer", timeout_ms=60_000)
    committed: Rows = []
    everything: Rows = []
    for number in range(6):
        writer = TransactionWriter(cluster, transactions, producer)
        commit = number % 3 == 0
        for piece in range(3):
            values = [b"%d-%d-%d" % (number, piece, index) for index in range(4)]
            content = [Record(timestamp=0, value=value) for value in values]
            first = writer.append("transactions", 0, build_batch(content))
            rows = [(first + index, value) for index, value in enumerate(values)]
            everything += rows
            committed += rows if commit else []
        producer = transactions.end(producer, commit=commit)
    place = ("transactions", 0)
    end = cluster.offsets([place], -1, isolation_level=READ_COMMITTED)[place].offset
    assert end == everything[-1][0] + 2  # the last marker ends the log
    small = FetchSettings(max_bytes=200, partition_max_bytes=200)
    for start in range(0, end, 5):
        expected = [row for row in committed if row[0] >= start]
        assert read(cluster, "transactions", start, end, committed=True) == expected
        assert read(cluster, "transactions", start, end, committed=True, fetch=small) == expected
    assert read(cluster, "transactions", 0, end) == everything
    assert read(cluster, "transactions", end - 1, end) == []


def test_records_that_were_deleted_are_an_error_or_told_and_passed(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("expired")
    rows = fill(cluster, "expired", 10)
    delete_before(cluster, "expired", 35)
    with pytest.raises(DataLost, match=r"expired +0 +7 +35"):
        read(cluster, "expired", 7, 100)
    losses: list[Loss] = []
    assert read(cluster, "expired", 7, 90, fail_on_data_loss=False, on_loss=losses.append) == rows[35:90]
    assert losses == [Loss("expired", 0, 7, 35, Cause.EXPIRED, 90)]
    losses.clear()
    assert read(cluster, "expired", 7, 30, fail_on_data_loss=False, on_loss=losses.append) == []
    assert losses == [Loss("expired", 0, 7, 35, Cause.EXPIRED, 30)]


def test_records_that_are_deleted_while_they_are_read(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("expiring")
    rows = fill(cluster, "expiring", 30)
    small = FetchSettings(max_bytes=100, partition_max_bytes=100)
    losses: list[Loss] = []
    found = batches_of(
        cluster, OffsetRange("expiring", 0, 0, 300), fetch=small, fail_on_data_loss=False, on_loss=losses.append
    )
    got = rows_of(next(found))
    with connected(broker) as other:
        delete_before(other, "expiring", 205)
    got += [row for batch in found for row in rows_of(batch)]
    (loss,) = losses
    assert (loss.available, loss.cause) == (205, Cause.EXPIRED)
    assert got == rows[: loss.wanted] + rows[205:]


def test_a_log_that_ends_before_the_range_is_a_loss_and_no_endless_loop(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("short")
    rows = fill(cluster, "short", 2)
    for start in (30, 20, 15):
        with pytest.raises(DataLost, match="the log ends before"):
            read(cluster, "short", start, 40, fetch=IMPATIENT)
        losses: list[Loss] = []
        got = read(cluster, "short", start, 40, fetch=IMPATIENT, fail_on_data_loss=False, on_loss=losses.append)
        assert got == rows[start:]
        assert losses == [Loss("short", 0, max(start, 20), None, Cause.CUT_OFF, 40)]


def test_a_topic_that_was_made_again_is_another_one(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("remade")
    fill(cluster, "remade", 20)
    old_id = str(cluster.topics(["remade"])["remade"].topic_id)
    small = FetchSettings(max_bytes=100, partition_max_bytes=100)
    under_way = batches_of(cluster, OffsetRange("remade", 0, 0, 200), fetch=small)
    next(under_way)
    with connected(broker) as other:
        delete_topic(other, "remade")
        broker.create_topic("remade")
        fill(other, "remade", 20)
        with pytest.raises(DataLost, match="created again"):
            list(under_way)
        planned_before = OffsetRange("remade", 0, 100, 200, old_id)
        with pytest.raises(DataLost, match="created again"):
            list(batches_of(other, planned_before))
        losses: list[Loss] = []
        assert list(batches_of(other, planned_before, fail_on_data_loss=False, on_loss=losses.append)) == []
        assert [loss.cause for loss in losses] == [Cause.RECREATED]


def test_a_topic_that_is_gone(broker: Broker, cluster: Cluster) -> None:
    with pytest.raises(DataLost, match="no longer exists"):
        read(cluster, "never-made", 0, 10, fetch=IMPATIENT)


def test_a_reader_that_stops_early_leaves_no_answer_behind(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("stopped")
    rows = fill(cluster, "stopped", 20)
    small = FetchSettings(max_bytes=100, partition_max_bytes=100)
    found = batches_of(cluster, OffsetRange("stopped", 0, 0, 200), fetch=small)
    assert rows_of(next(found)) == rows[:10]
    found.close()
    assert read(cluster, "stopped", 50, 60) == rows[50:60]


def test_a_silent_broker_is_an_error_after_the_timeout() -> None:
    with Broker(process=True) as broker, connected(broker) as cluster:
        broker.create_topic("silent")
        fill(cluster, "silent", 1)
        broker.kill()
        with pytest.raises(ConnectionError):
            read(cluster, "silent", 0, 10, fetch=IMPATIENT)


@pytest.mark.crash
def test_a_broker_that_is_killed_and_comes_back_is_asked_again() -> None:
    small = FetchSettings(max_bytes=100, partition_max_bytes=100, max_wait_ms=50)
    with Broker(process=True) as broker, connected(broker) as cluster:
        broker.create_topic("survivor")
        rows = fill(cluster, "survivor", 50)
        found = batches_of(cluster, OffsetRange("survivor", 0, 0, 500), fetch=small)
        got = rows_of(next(found))
        broker.kill()
        restart = threading.Thread(target=broker.start)
        restart.start()
        got += [row for batch in found for row in rows_of(batch)]
        restart.join()
    assert got == rows


def test_numbers_that_are_none_are_refused() -> None:
    assert FetchSettings.of({"fetch.max.bytes": "4096", "check.crcs": "false"}) == FetchSettings(
        max_bytes=4096, check_crc=False
    )
    with pytest.raises(Exception, match=r"max\.partition\.fetch\.bytes: 'much' is not a number"):
        FetchSettings.of({"max.partition.fetch.bytes": "much"})
