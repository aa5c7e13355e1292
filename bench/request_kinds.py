"""What real clients send most, as frames that are encoded once: one frame for each of several connections."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from barnabas.records.compression import Codec
from barnabas.records.record import Record, build_batch
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from bench.frames import batch_of
from bench.load.groups import join_alone

TOPIC: Final = "requests"
PARTITIONS: Final = 8
WIDE_TOPIC: Final = "requests-wide"
WIDE_PARTITIONS: Final = 100
OTHER_TOPICS: Final = tuple(f"requests-{number}" for number in range(9))
GROUPS: Final = tuple(f"requests-group-{number}" for number in range(PARTITIONS))
_LATEST: Final = -1


class Target(NamedTuple):
    """The least ratio of rates to Apache Kafka, by the number of connections, and the most of CPU."""

    rates: dict[int, float]
    cpu: float | None = 1.0


_EQUAL: Final = Target({8: 1.0, 64: 0.8})
_HALF: Final = Target({8: 0.5, 64: 0.4}, cpu=None)


class RequestKind(NamedTuple):
    title: str
    api: str
    version: int
    make: Callable[[int], Sequence[object]]
    """Gets a port: some requests need a member of a group first."""
    target: Target = _EQUAL


def _produce(*batches: tuple[int, bytes]) -> ProduceRequest:
    partitions = tuple(PartitionProduceData(index=index, records=batch) for index, batch in batches)
    data = TopicProduceData(name=TOPIC, partition_data=partitions)
    return ProduceRequest(acks=-1, timeout=timedelta(seconds=30), topic_data=(data,))


def _plain(_: int) -> list[ProduceRequest]:
    return [_produce((partition, batch_of(1, 100))) for partition in range(PARTITIONS)]


def _compressed(_: int) -> list[ProduceRequest]:
    now_ms = time.time_ns() // 1_000_000
    records = [Record(timestamp=now_ms, value=b'{"device": %d, "celsius": 21.5}' % number * 3) for number in range(20)]
    batch = build_batch(records, codec=Codec.LZ4)
    return [_produce((partition, batch)) for partition in range(PARTITIONS)]


def _to_all_partitions(_: int) -> list[ProduceRequest]:
    return [_produce(*((partition, batch_of(1, 100)) for partition in range(PARTITIONS)))]


def _fetch(topic: str, partitions: Sequence[int], max_bytes: int) -> FetchRequest:
    wanted = tuple(FetchPartition(partition=each, partition_max_bytes=max_bytes) for each in partitions)
    return FetchRequest(
        max_wait=timedelta(0), min_bytes=0, max_bytes=50 << 20, topics=(FetchTopic(topic=topic, partitions=wanted),)
    )


def _fetch_one_record(_: int) -> list[FetchRequest]:
    return [_fetch(TOPIC, [partition], 1) for partition in range(PARTITIONS)]


def _fetch_nothing_of_many(_: int) -> list[FetchRequest]:
    return [_fetch(WIDE_TOPIC, range(WIDE_PARTITIONS), 1 << 20)]


def _commit(count: int) -> Callable[[int], list[OffsetCommitRequest]]:
    partitions = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1_000 + index) for index in range(count)
    )
    topics = (OffsetCommitRequestTopic(name=WIDE_TOPIC, partitions=partitions),)
    return lambda _: [
        OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics) for group in GROUPS
    ]


def _heartbeat(port: int) -> list[HeartbeatRequest]:
    groups = [f"{group}-with-member" for group in GROUPS]
    return [
        HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id)
        for group, (generation, member_id) in zip(groups, join_alone(port, groups), strict=True)
    ]


def _metadata(_: int) -> list[MetadataRequest]:
    names = (TOPIC, *OTHER_TOPICS)
    return [MetadataRequest(topics=tuple(MetadataRequestTopic(name=name) for name in names))]


def _find_coordinator(_: int) -> list[FindCoordinatorRequest]:
    return [FindCoordinatorRequest(key_type=0, coordinator_keys=(group,)) for group in GROUPS]


def _list_offsets(_: int) -> list[ListOffsetsRequest]:
    return [
        ListOffsetsRequest(
            topics=(
                ListOffsetsTopic(
                    name=TOPIC, partitions=(ListOffsetsPartition(partition_index=partition, timestamp=_LATEST),)
                ),
            )
        )
        for partition in range(PARTITIONS)
    ]


KINDS: Final = (
    RequestKind("Produce 12, one plain batch", "produce", 12, _plain),
    RequestKind("Produce 3, one plain batch", "produce", 3, _plain),
    RequestKind("Produce 12, one lz4 batch of 20 records", "produce", 12, _compressed),
    RequestKind("Produce 9, 8 partitions", "produce", 9, _to_all_partitions),
    RequestKind("Fetch 12 of one small record", "fetch", 12, _fetch_one_record),
    RequestKind("Fetch 12 of 100 empty partitions", "fetch", 12, _fetch_nothing_of_many),
    RequestKind("OffsetCommit 9 of 1", "offset_commit", 9, _commit(1)),
    RequestKind("OffsetCommit 9 of 100", "offset_commit", 9, _commit(100), _HALF),
    RequestKind("Heartbeat 4", "heartbeat", 4, _heartbeat),
    RequestKind("Metadata 12 of 10 topics", "metadata", 12, _metadata),
    RequestKind("FindCoordinator 4", "find_coordinator", 4, _find_coordinator),
    RequestKind("ListOffsets 7 of 1", "list_offsets", 7, _list_offsets),
)
