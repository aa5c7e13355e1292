"""Explicit requests over `barnabas.testing.client`, for tests that check exact requests and answers."""

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from barnabas.records.batch import split_batches
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)

EARLIEST, LATEST = -2, -1

T = TypeVar("T")


def produce(
    client: Client,
    topic: str,
    values: Sequence[bytes],
    *,
    partition: int = 0,
    timestamp: int = 1_750_000_000_000,
    producer_id: int = -1,
    base_sequence: int = -1,
) -> PartitionProduceResponse:
    """One batch, acks=all; with a producer id it may be sent twice and is stored once."""
    batch = build_batch(
        [Record(timestamp=timestamp, value=value) for value in values],
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=base_sequence,
    )
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=partition, records=batch),))
    request = ProduceRequest(acks=-1, timeout=datetime.timedelta(seconds=20), topic_data=(data,))
    (answer,) = client.call("produce", 9, request).responses
    return answer.partition_responses[0]


def fetch(client: Client, topic: str, offset: int, *, partition: int = 0) -> PartitionData:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(min_bytes=1, topics=(FetchTopic(topic=topic, partitions=(wanted,)),))
    (answer,) = client.call("fetch", 12, request).responses
    return answer.partitions[0]


def read_all(client: Client, topic: str, *, partition: int = 0) -> list[Record]:
    """From the first offset to the high watermark."""
    offset = list_offset(client, topic, EARLIEST, partition=partition)
    records: list[Record] = []
    while True:
        answer = fetch(client, topic, offset, partition=partition)
        assert answer.error_code == ErrorCode.none, answer.error_code.name
        if offset >= answer.high_watermark:
            return records
        before = offset
        for batch in split_batches(answer.records or b""):
            records += [each for each in decode_records(batch, max_bytes=1 << 24) if each.offset >= offset]
            offset = batch.header.next_offset
        assert offset > before, f"nothing at offset {offset}, and the high watermark is {answer.high_watermark}"


def read_around(client: Client, topic: str, *, partition: int = 0) -> tuple[dict[int, bytes | None], list[int]]:
    """All values by their offsets, and the offsets that are refused as damaged."""
    offset = list_offset(client, topic, EARLIEST, partition=partition)
    end = list_offset(client, topic, LATEST, partition=partition)
    found: dict[int, bytes | None] = {}
    refused: list[int] = []
    while offset < end:
        answer = fetch(client, topic, offset, partition=partition)
        if answer.error_code == ErrorCode.corrupt_message:
            refused.append(offset)
            offset += 1
            continue
        assert answer.error_code == ErrorCode.none, answer.error_code.name
        for batch in split_batches(answer.records or b""):
            for record in decode_records(batch, max_bytes=1 << 24):
                if record.offset >= offset:
                    found[record.offset] = record.value
            offset = batch.header.next_offset
    return found, refused


def list_offset(client: Client, topic: str, timestamp: int, *, partition: int = 0) -> int:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(wanted,)),))
    (answer,) = client.call("list_offsets", 7, request).topics
    result = answer.partitions[0]
    assert result.error_code == ErrorCode.none, result.error_code.name
    return result.offset


def topic_names(client: Client) -> set[str]:
    return {topic.name for topic in client.call("metadata", 12, MetadataRequest(topics=None)).topics}


def alter_topic(client: Client, name: str, config: Mapping[str, str]) -> None:
    configs = tuple(AlterableConfig(name=key, value=value) for key, value in config.items())
    resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=configs)
    (result,) = client.call(
        "incremental_alter_configs", 1, IncrementalAlterConfigsRequest(resources=(resource,))
    ).responses
    assert result.error_code == ErrorCode.none, result.error_message


def commit_offset(client: Client, group: str, topic: str, offset: int) -> ErrorCode:
    """Like a consumer without group membership: no member id, no generation."""
    find_coordinator(client, group)
    position = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    request = OffsetCommitRequest(
        group_id=group, topics=(OffsetCommitRequestTopic(name=topic, partitions=(position,)),)
    )
    (answer,) = client.call("offset_commit", 8, request).topics
    return answer.partitions[0].error_code


def committed_offset(client: Client, group: str, topic: str) -> int:
    """-1: none."""
    find_coordinator(client, group)
    request = OffsetFetchRequest(group_id=group, topics=(OffsetFetchRequestTopic(name=topic, partition_indexes=(0,)),))
    answer = client.call("offset_fetch", 7, request)
    assert answer.error_code == ErrorCode.none, answer.error_code.name
    offset: int = answer.topics[0].partitions[0].committed_offset
    return offset


def find_coordinator(client: Client, group: str) -> None:
    """The first time this creates __consumer_offsets."""
    assert client.call("find_coordinator", 3, FindCoordinatorRequest(key=group)).error_code == ErrorCode.none


def retry_until_present(look: Callable[[], T | None], *, timeout_s: float = 20.0) -> T:
    """Retry `look` until it returns something."""
    deadline = time.monotonic() + timeout_s
    while (found := look()) is None:
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.005)
    return found
