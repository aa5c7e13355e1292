"""The producer against a real broker, which is also killed, paused and restarted."""

import threading
from collections.abc import Iterator

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.producer import Producer
from barnabas.client.producer_settings import ProducerSettings
from barnabas.client.properties import client_settings
from barnabas.records.batch import split_batches
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

ONE_EACH = ProducerSettings(request_bytes_max=1)


def batch(*values: bytes) -> bytearray:
    return bytearray(build_batch([Record(timestamp=1, value=value) for value in values]))


def read_all(cluster: Cluster, topic: str, partition: int = 0) -> list[bytes | None]:
    """From the first offset to the last."""
    end = cluster.offsets([(topic, partition)], -1)[topic, partition].offset
    topic_id = cluster.topics([topic])[topic].topic_id
    values: list[bytes | None] = []
    while len(values) < end:
        asked = FetchPartition(partition=partition, fetch_offset=len(values), partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_bytes=1 << 20, topics=(FetchTopic(topic=topic, topic_id=topic_id, partitions=(asked,)),)
        )
        ((answered,),) = (one.partitions for one in cluster.call("fetch", request).responses)
        for one in split_batches(answered.records):
            values += [record.value for record in decode_records(one, max_bytes=1 << 30)]
    return values


def test_offsets_by_partition(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("by-partition", partitions=3)
    with Producer(cluster) as producer:
        for number in range(30):
            producer.send("by-partition", number % 3, batch(b"%d" % number, b"more"))
        assert producer.flush() == {("by-partition", index): (0, 19) for index in range(3)}
        producer.send("by-partition", 1, batch(b"last"))
        assert producer.flush()["by-partition", 1] == (0, 20)
    assert read_all(cluster, "by-partition", 1)[-1] == b"last"


def test_a_batch_out_of_another_log_is_taken_as_it_is(broker: Broker, cluster: Cluster) -> None:
    """With an offset, a leader epoch and another producer's fields in it."""
    broker.create_topic("copied")
    copied = build_batch(
        [Record(timestamp=5, value=b"v")], base_offset=99, producer_id=5, producer_epoch=1, base_sequence=8
    )
    with Producer(cluster) as producer:
        producer.send("copied", 0, bytearray(copied))
        assert producer.flush() == {("copied", 0): (0, 0)}
    assert read_all(cluster, "copied") == [b"v"]


def test_a_missing_topic_is_made_where_brokers_do_so(cluster: Cluster) -> None:
    with Producer(cluster) as producer:
        assert producer.partition_count("made-by-the-broker") == 1
        producer.send("made-by-the-broker", 0, batch(b"x"))
    assert read_all(cluster, "made-by-the-broker") == [b"x"]


def test_a_topic_that_gains_partitions(broker: Broker, cluster: Cluster) -> None:
    from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic

    broker.create_topic("growing")
    with Producer(cluster) as producer:
        assert producer.partition_count("growing") == 1
        more = CreatePartitionsTopic(name="growing", count=3, assignments=None)
        (result,) = cluster.call("create_partitions", CreatePartitionsRequest(topics=(more,))).results
        assert result.error_code == ErrorCode.none
        producer.send("growing", 2, batch(b"x"))
        assert producer.flush() == {("growing", 2): (0, 0)}
        assert producer.partition_count("growing") == 3


@pytest.fixture(scope="module")
def strict_broker() -> Iterator[Broker]:
    with Broker(properties={"auto.create.topics.enable": "false"}) as running:
        yield running


def test_a_missing_topic_is_told_at_once_where_brokers_make_none(strict_broker: Broker) -> None:
    settings = client_settings({"bootstrap.servers": strict_broker.bootstrap_servers})
    with Cluster(settings) as cluster, pytest.raises(Refused) as refused:
        Producer(cluster).send("nowhere", 0, batch(b"x"))
    assert refused.value.code == ErrorCode.unknown_topic_or_partition
    assert "auto.create.topics.enable is false" in str(refused.value)
    assert "barnabas topic create nowhere" in str(refused.value)


@pytest.mark.crash
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_broker_that_restarts_meanwhile(end: str) -> None:
    count = 400
    with Broker(process=True) as broker:
        broker.create_topic("t", partitions=2)
        settings = client_settings({"bootstrap.servers": broker.bootstrap_servers, "retry.backoff.ms": "20"})
        with Cluster(settings) as cluster, Producer(cluster, settings=ONE_EACH) as producer:
            for number in range(count):
                if number in (100, 250):
                    # while requests are under way
                    restarting = threading.Thread(target=_restart, args=(broker, end))
                    restarting.start()
                producer.send("t", number % 2, batch(b"%d" % number))
                if number in (150, 300):
                    restarting.join()
            offsets = producer.flush()
            restarting.join()
            assert offsets == {("t", 0): (0, count // 2 - 1), ("t", 1): (0, count // 2 - 1)}
            for partition in range(2):
                assert read_all(cluster, "t", partition) == [b"%d" % one for one in range(partition, count, 2)]


def _restart(broker: Broker, end: str) -> None:
    getattr(broker, end)()
    broker.start()


@pytest.mark.crash
def test_a_broker_that_does_not_answer_for_a_while() -> None:
    """The broker is killed before it answers: the batches are sent again, and detected as duplicates."""
    with Broker(process=True) as broker:
        broker.create_topic("t")
        properties = {
            "bootstrap.servers": broker.bootstrap_servers,
            "request.timeout.ms": "300",
            "socket.connection.setup.timeout.ms": "300",
        }
        with Cluster(client_settings(properties)) as cluster, Producer(cluster, settings=ONE_EACH) as producer:
            producer.send("t", 0, batch(b"0"))
            producer.flush()
            broker.pause()
            resuming = threading.Timer(1.0, broker.resume)
            resuming.start()
            for number in range(1, 20):
                producer.send("t", 0, batch(b"%d" % number))
            assert producer.flush() == {("t", 0): (0, 19)}
            resuming.join()
            assert read_all(cluster, "t") == [b"%d" % number for number in range(20)]
