"""A topic of the Metadata response, packed by hand: a client of a large cluster asks for ten thousand at once.

The codec encodes the rest of the response, and topics are inserted. A test compares the whole with the codec.
"""

import struct
import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple

from barnabas.wire.codec import encode_response
from barnabas.wire.messages.metadata import MetadataResponse
from barnabas.wire.primitives import NO_TAGGED_FIELDS, compact_string, legacy_string, uvarint

_INTERNAL_SINCE: Final = 1
_OFFLINE_SINCE: Final = 5
_EPOCH_SINCE: Final = 7
_OPERATIONS_SINCE: Final = 8
_FLEXIBLE_SINCE: Final = 9
_ID_SINCE: Final = 10

_error_and_index = struct.Struct(">hii")
_epoch = struct.Struct(">i")
_int16 = struct.Struct(">h")
_int32 = struct.Struct(">i")


class TopicPartitionFacts(NamedTuple):
    error_code: int
    partition: int
    leader: int
    leader_epoch: int
    replicas: Sequence[int]
    isr: Sequence[int]
    offline: Sequence[int]


class MetadataAnswer(NamedTuple):
    """`frame` is the response without its topics, which come encoded."""

    frame: MetadataResponse
    topics: Sequence[bytes]


def encode_topic(
    version: int,
    *,
    error_code: int = 0,
    name: str | None,
    topic_id: uuid.UUID | None,
    is_internal: bool = False,
    partitions: Sequence[bytes] = (),
    operations: int,
) -> bytes:
    """`name` is None where only an id was asked for, and is not known (version 12). The partitions come encoded."""
    flexible = version >= _FLEXIBLE_SINCE
    out = [_int16.pack(error_code), compact_string(name) if flexible else legacy_string(name)]
    if version >= _ID_SINCE:
        out.append(topic_id.bytes if topic_id else bytes(16))
    if version >= _INTERNAL_SINCE:
        out.append(b"\x01" if is_internal else b"\x00")
    out.append(uvarint(len(partitions) + 1) if flexible else _int32.pack(len(partitions)))
    out += partitions
    if version >= _OPERATIONS_SINCE:
        out.append(_int32.pack(operations))
    if flexible:
        out.append(NO_TAGGED_FIELDS)
    return b"".join(out)


def encode_partition(version: int, partition: TopicPartitionFacts) -> bytes:
    out = _error_and_index.pack(partition.error_code, partition.partition, partition.leader)
    if version >= _EPOCH_SINCE:
        out += _epoch.pack(partition.leader_epoch)
    flexible = version >= _FLEXIBLE_SINCE
    lists = (partition.replicas, partition.isr, partition.offline)
    for ids in lists if version >= _OFFLINE_SINCE else lists[:2]:
        out += uvarint(len(ids) + 1) if flexible else _int32.pack(len(ids))
        out += struct.pack(f">{len(ids)}i", *ids)
    return out + NO_TAGGED_FIELDS if flexible else out


def encode_metadata_response(answer: MetadataAnswer | MetadataResponse, version: int) -> list[bytes]:
    """A MetadataResponse is an error of the whole request, without topics."""
    if isinstance(answer, MetadataResponse):
        return [encode_response("metadata", version, answer)]
    # An empty list of topics is what splits the frame: whatever follows it has a known size.
    whole = encode_response("metadata", version, answer.frame)
    after = _bytes_after_topics(version)
    empty_size = 1 if version >= _FLEXIBLE_SINCE else 4
    before = whole[: len(whole) - after - empty_size]
    count = len(answer.topics)
    counted = uvarint(count + 1) if version >= _FLEXIBLE_SINCE else _int32.pack(count)
    return [b"".join((before, counted, *answer.topics, whole[len(whole) - after :]))]


def _bytes_after_topics(version: int) -> int:
    size = 0
    if 8 <= version <= 10:
        size += 4  # what the client may do with the cluster
    if version >= 13:
        size += 2  # error code
    if version >= _FLEXIBLE_SINCE:
        size += 1  # tagged fields
    return size
