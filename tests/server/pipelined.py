"""Requests for `test_request_order`: what a client may send, with its own names, and what to compare of the answers.

A world is a prefix of names. The same steps in two worlds must be answered alike but for ids that the broker chose.
EndTxn is not among them: Kafka answers it before the markers are written, so what follows it depends on time.
"""

import datetime
import re
import socket
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from barnabas.records.record import Record, build_batch
from barnabas.testing.client import Client, request_header
from barnabas.wire.codec import encode_request
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SECONDS_5 = datetime.timedelta(seconds=5)
TOPIC_RESOURCE = 2
LATEST, EARLIEST = -1, -2


class Step(NamedTuple):
    api: str
    version: int
    request: Callable[[str], object]
    """Of a prefix."""
    label: str

    def __repr__(self) -> str:
        return self.label


def create_topic(topic: str, *, partitions: int = 1, synced: bool = False) -> Step:
    """`synced`: an acknowledgement waits for the disk."""
    configs = (CreatableTopicConfig(name="flush.messages", value="1"),) if synced else ()

    def request(prefix: str) -> object:
        wanted = CreatableTopic(name=prefix + topic, num_partitions=partitions, replication_factor=1, configs=configs)
        return CreateTopicsRequest(topics=(wanted,), timeout=SECONDS_5)

    return Step("create_topics", 7, request, f"create_topic({topic}, {partitions}, {synced=})")


def delete_topic(topic: str) -> Step:
    return Step(
        "delete_topics",
        5,
        lambda prefix: DeleteTopicsRequest(topic_names=(prefix + topic,), timeout=SECONDS_5),
        f"delete_topic({topic})",
    )


def grow(topic: str, partitions: int) -> Step:
    def request(prefix: str) -> object:
        wanted = CreatePartitionsTopic(name=prefix + topic, count=partitions, assignments=None)
        return CreatePartitionsRequest(topics=(wanted,), timeout=SECONDS_5)

    return Step("create_partitions", 3, request, f"grow({topic}, {partitions})")


def metadata(topic: str, *, creates: bool = False) -> Step:
    def request(prefix: str) -> object:
        return MetadataRequest(topics=(MetadataRequestTopic(name=prefix + topic),), allow_auto_topic_creation=creates)

    return Step("metadata", 9, request, f"metadata({topic}, {creates=})")


def set_retention(topic: str, retention_ms: int) -> Step:
    def request(prefix: str) -> object:
        changed = AlterableConfig(name="retention.ms", config_operation=0, value=str(retention_ms))
        resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=prefix + topic, configs=(changed,))
        return IncrementalAlterConfigsRequest(resources=(resource,))

    return Step("incremental_alter_configs", 1, request, f"set_retention({topic}, {retention_ms})")


def describe_retention(topic: str) -> Step:
    def request(prefix: str) -> object:
        resource = DescribeConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name=prefix + topic, configuration_keys=("retention.ms",)
        )
        return DescribeConfigsRequest(resources=(resource,))

    return Step("describe_configs", 4, request, f"describe_retention({topic})")


def produce(topic: str, *, count: int = 1, acks: int = -1) -> Step:
    batch = build_batch([Record(timestamp=1, value=b"%d" % index) for index in range(count)])

    def request(prefix: str) -> object:
        data = TopicProduceData(name=prefix + topic, partition_data=(PartitionProduceData(index=0, records=batch),))
        return ProduceRequest(acks=acks, timeout=SECONDS_5, topic_data=(data,))

    return Step("produce", 9, request, f"produce({topic}, {count=}, {acks=})")


def fetch(topic: str, offset: int = 0, *, wait: datetime.timedelta = datetime.timedelta()) -> Step:
    def request(prefix: str) -> object:
        asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
        return FetchRequest(
            max_wait=wait,
            min_bytes=1,
            max_bytes=1_000_000,
            session_epoch=-1,
            topics=(FetchTopic(topic=prefix + topic, partitions=(asked,)),),
        )

    return Step("fetch", 11, request, f"fetch({topic}, {offset}, {wait=})")


def delete_records(topic: str, offset: int) -> Step:
    def request(prefix: str) -> object:
        wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
        return DeleteRecordsRequest(
            topics=(DeleteRecordsTopic(name=prefix + topic, partitions=(wanted,)),), timeout=SECONDS_5
        )

    return Step("delete_records", 2, request, f"delete_records({topic}, {offset})")


def list_offsets(topic: str, timestamp: int) -> Step:
    def request(prefix: str) -> object:
        wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        return ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=prefix + topic, partitions=(wanted,)),))

    return Step("list_offsets", 5, request, f"list_offsets({topic}, {timestamp})")


def commit(group: str, topic: str, offset: int) -> Step:
    def request(prefix: str) -> object:
        wanted = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        return OffsetCommitRequest(
            group_id=prefix + group,
            topics=(OffsetCommitRequestTopic(name=prefix + topic, partitions=(wanted,)),),
        )

    return Step("offset_commit", 8, request, f"commit({group}, {topic}, {offset})")


def committed(group: str, topic: str) -> Step:
    def request(prefix: str) -> object:
        return OffsetFetchRequest(
            group_id=prefix + group,
            topics=(OffsetFetchRequestTopic(name=prefix + topic, partition_indexes=(0,)),),
        )

    return Step("offset_fetch", 5, request, f"committed({group}, {topic})")


def forget_commit(group: str, topic: str) -> Step:
    def request(prefix: str) -> object:
        wanted = OffsetDeleteRequestPartition(partition_index=0)
        return OffsetDeleteRequest(
            group_id=prefix + group,
            topics=(OffsetDeleteRequestTopic(name=prefix + topic, partitions=(wanted,)),),
        )

    return Step("offset_delete", 0, request, f"forget_commit({group}, {topic})")


def delete_group(group: str) -> Step:
    return Step(
        "delete_groups", 2, lambda prefix: DeleteGroupsRequest(groups_names=(prefix + group,)), f"delete_group({group})"
    )


def heartbeat(group: str, member: str, member_epoch: int, topic: str) -> Step:
    """0: join; -1: leave."""

    def request(prefix: str) -> object:
        return ConsumerGroupHeartbeatRequest(
            group_id=prefix + group,
            member_id=member,
            member_epoch=member_epoch,
            rebalance_timeout=SECONDS_5,
            subscribed_topic_names=(prefix + topic,),
            topic_partitions=(),
        )

    return Step("consumer_group_heartbeat", 1, request, f"heartbeat({group}, {member}, {member_epoch}, {topic})")


def describe_group(group: str) -> Step:
    return Step(
        "consumer_group_describe",
        1,
        lambda prefix: ConsumerGroupDescribeRequest(group_ids=(prefix + group,)),
        f"describe_group({group})",
    )


def init_producer(transactional_id: str) -> Step:
    def request(prefix: str) -> object:
        return InitProducerIdRequest(transactional_id=prefix + transactional_id, transaction_timeout=SECONDS_5 * 10)

    return Step("init_producer_id", 4, request, f"init_producer({transactional_id})")


def add_to_transaction(transactional_id: str, topic: str) -> Step:
    """From a wrong producer: the error depends on the coordinator's state at that moment."""

    def request(prefix: str) -> object:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=prefix + transactional_id,
            v3_and_below_producer_id=1 << 40,
            v3_and_below_topics=(AddPartitionsToTxnTopic(name=prefix + topic, partitions=(0,)),),
        )

    return Step("add_partitions_to_txn", 3, request, f"add_to_transaction({transactional_id}, {topic})")


topics = st.sampled_from(["t", "u"])
groups = st.sampled_from(["g", "h"])
offsets = st.integers(min_value=0, max_value=4)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(create_topic, topics, partitions=st.integers(1, 2), synced=st.booleans()),
    st.builds(delete_topic, topics),
    st.builds(grow, topics, st.integers(2, 4)),
    st.builds(metadata, topics, creates=st.booleans()),
    st.builds(set_retention, topics, st.integers(1000, 9_000_000)),
    st.builds(describe_retention, topics),
    st.builds(produce, topics, count=st.integers(1, 3), acks=st.sampled_from([1, -1])),
    st.builds(fetch, topics, offsets),
    st.builds(delete_records, topics, st.one_of(offsets, st.just(-1))),
    st.builds(list_offsets, topics, st.sampled_from([LATEST, EARLIEST])),
    st.builds(commit, groups, topics, offsets),
    st.builds(committed, groups, topics),
    st.builds(forget_commit, groups, topics),
    st.builds(delete_group, groups),
    st.builds(heartbeat, groups, st.sampled_from(["a", "b"]), st.sampled_from([0, -1]), topics),
    st.builds(describe_group, groups),
    st.builds(init_producer, st.just("x")),
    st.builds(add_to_transaction, st.just("x"), topics),
)


def one_by_one(client: Client, prefix: str, steps: Sequence[Step]) -> list[str]:
    answers = [client.call(step.api, step.version, step.request(prefix)) for step in steps]
    return comparable(prefix, answers)


def in_one_write(address: tuple[str, int], prefix: str, steps: Sequence[Step]) -> list[str]:
    frames = bytearray()
    for number, step in enumerate(steps):
        payload = request_header(step.api, step.version, number, "barnabas-testing")
        payload += encode_request(step.api, step.version, step.request(prefix))
        frames += struct.pack(">i", len(payload)) + payload
    with socket.create_connection(address, timeout=30) as connected:
        client = _Receiver(connected)
        connected.sendall(frames)
        return comparable(prefix, [client.answer(number, step) for number, step in enumerate(steps)])


class _Receiver:
    """Reads the answers to requests that were sent by hand."""

    def __init__(self, connected: socket.socket) -> None:
        self._stream = connected.makefile("rb")

    def answer(self, number: int, step: Step) -> object:
        from barnabas.wire.codec import decode_response, is_flexible
        from barnabas.wire.frame import skip_tagged_fields

        (size,) = struct.unpack(">i", self._stream.read(4))
        frame = memoryview(self._stream.read(size))
        assert struct.unpack_from(">i", frame) == (number,)
        start = skip_tagged_fields(frame, 4) if is_flexible(step.api, step.version) else 4
        return decode_response(step.api, step.version, frame, start)


_CHOSEN_BY_THE_BROKER = re.compile(r"UUID\('[^']*'\)|producer_id=\d+")


def comparable(prefix: str, answers: Sequence[object]) -> list[str]:
    """Ids that the broker chose become their order of appearance, names lose their prefix."""
    known: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return known.setdefault(match[0], f"id {len(known)}")

    return [_CHOSEN_BY_THE_BROKER.sub(number, repr(answer).replace(prefix, "")) for answer in answers]
