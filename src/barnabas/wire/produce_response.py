"""The Produce response, packed by hand, because it is sent most often. A test compares it with the codec."""

import struct
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.wire.primitives import NO_TAGGED_FIELDS, compact_string, legacy_string, uvarint

_partition = struct.Struct(">ihqqq")
_partition_before_log_start = struct.Struct(">ihqq")
_partition_and_error = struct.Struct(">ih")
_int32 = struct.Struct(">i")
_leader = struct.Struct(">ii")


class ProducedPartition(NamedTuple):
    partition: int
    error_code: int = 0
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    leader: tuple[int, int] | None = None
    """Id and epoch of the current leader, told with NOT_LEADER_OR_FOLLOWER: the client need not ask (KIP-951)."""


class ProducedTopic(NamedTuple):
    name: str
    topic_id: uuid.UUID | None
    partitions: Sequence[ProducedPartition]


class ProduceAnswer(NamedTuple):
    topics: Sequence[ProducedTopic]
    throttle_time_ms: int = 0


class PlainAnswer:
    """The answer to one partition's batch where all went well, with all but three numbers filled in beforehand.

    Of flexible versions, which are alike in this; a whole frame.
    """

    __slots__ = ("_before", "_pack", "_size")

    def __init__(self, topic: bytes, partition: int) -> None:
        """`topic`: the compact name, or from version 13 on the id."""
        self._before = b"\x00\x02%b\x02%b" % (topic, _partition_and_error.pack(partition, 0))
        # size, correlation id; base offset, time of append, log start
        frame = struct.Struct(f">ii{len(self._before)}sqqq{len(_PLAIN_END)}s")
        self._pack = frame.pack
        self._size = frame.size - 4

    def frame(self, correlation_id: int, base_offset: int, log_start_offset: int) -> bytes:
        return self._pack(self._size, correlation_id, self._before, base_offset, -1, log_start_offset, _PLAIN_END)


# No record errors, no message, no tags of partition and topic, no throttle time, no tags.
_PLAIN_END = b"\x01\x00\x00\x00" + bytes(4) + b"\x00"


def encode_produce_response(answer: ProduceAnswer, version: int) -> list[bytes]:
    if version < 9:
        return [_legacy(answer, version)]
    topics = answer.topics
    if len(topics) == 1 and len(topics[0].partitions) == 1 and answer.throttle_time_ms == 0:
        partition = topics[0].partitions[0]
        if partition.error_message is None and partition.leader is None:
            return [_one_plain_partition(topics[0], partition, version)]
    return [_flexible(answer, version)]


def _one_plain_partition(topic: ProducedTopic, partition: ProducedPartition, version: int) -> bytes:
    """What most producers of single records get, in two pieces."""
    topic_id = topic.topic_id.bytes if topic.topic_id else bytes(16)
    name = topic_id if version >= 13 else compact_string(topic.name)
    # One topic, one partition; then the partition, its tags, the topic's tags, the throttle time and the tags of all.
    return b"\x02%b\x02%b" % (name, _plain_partition_to_end.pack(*partition[:5], 1, 0, 0, 0, 0, 0))


# From the partition's fields to its end, where there is nothing to explain: no record errors, no message, no tags.
_plain_partition = struct.Struct(">ihqqqBBB")
_plain_partition_to_end = struct.Struct(">ihqqqBBBBiB")


def _flexible(answer: ProduceAnswer, version: int) -> bytes:
    out = [uvarint(len(answer.topics) + 1)]
    for topic in answer.topics:
        if version >= 13:
            out.append(topic.topic_id.bytes if topic.topic_id else bytes(16))
        else:
            out.append(compact_string(topic.name))
        out.append(uvarint(len(topic.partitions) + 1))
        for partition in topic.partitions:
            if partition.error_message is None and partition.leader is None:
                out.append(_plain_partition.pack(*partition[:5], 1, 0, 0))
                continue
            out.append(_partition.pack(*partition[:5]))
            out.append(b"\x01")  # no record errors
            out.append(compact_string(partition.error_message))
            if partition.leader and version >= 10:
                # one tagged field: tag 0, nine bytes: the leader and its own empty tags
                out.append(b"\x01\x00\x09" + _leader.pack(*partition.leader) + NO_TAGGED_FIELDS)
            else:
                out.append(NO_TAGGED_FIELDS)
        out.append(NO_TAGGED_FIELDS)
    out.append(_int32.pack(answer.throttle_time_ms) + NO_TAGGED_FIELDS)
    return b"".join(out)


def _legacy(answer: ProduceAnswer, version: int) -> bytes:
    out = [_int32.pack(len(answer.topics))]
    for topic in answer.topics:
        out.append(legacy_string(topic.name))
        out.append(_int32.pack(len(topic.partitions)))
        for partition in topic.partitions:
            if version >= 5:
                out.append(_partition.pack(*partition[:5]))
            else:
                out.append(_partition_before_log_start.pack(*partition[:4]))
            if version >= 8:
                out.append(_int32.pack(0) + legacy_string(partition.error_message))
    out.append(_int32.pack(answer.throttle_time_ms))
    return b"".join(out)
