"""Reading ranges of offsets from a real broker."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.properties import client_settings
from barnabas.client.settings import READ_COMMITTED, READ_UNCOMMITTED
from barnabas.records.compression import Codec
from barnabas.records.record import Record, build_batch
from barnabas.spark.source.fetch import FetchSettings, read_range
from barnabas.spark.source.ranges import OffsetRange
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def cluster(broker: Broker) -> Iterator[Cluster]:
    with Cluster(client_settings({"bootstrap.servers": broker.bootstrap_servers})) as cluster:
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


def values(
    cluster: Cluster, topic: str, start: int, end: int, *, committed: bool = False, **options: Any
) -> list[tuple[int, bytes]]:
    rows: list[tuple[int, bytes]] = []
    for batch in read_range(
        cluster,
        OffsetRange(topic, 0, start, end),
        columns=("offset", "value"),
        isolation_level=READ_COMMITTED if committed else READ_UNCOMMITTED,
        **{"fail_on_data_loss": True, **options},
    ):
        rows += zip(batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True)
    return rows


def test_ranges_are_exact_at_both_ends_over_many_small_fetches(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("many")
    expected = []
    for number in range(40):
        records = [Record(timestamp=number, value=b"%d-%d" % (number, index)) for index in range(25)]
        first = produce(cluster, "many", build_batch(records, codec=list(Codec)[number % len(Codec)]))
        expected += [(first + index, record.value) for index, record in enumerate(records)]
    small = FetchSettings(max_bytes=1000, partition_max_bytes=1000)
    for start, end in ((0, 1000), (0, 1), (999, 1000), (37, 38), (37, 613), (25, 50), (5, 5)):
        assert values(cluster, "many", start, end) == expected[start:end]
        assert values(cluster, "many", start, end, fetch=small) == expected[start:end]
