"""The Produce request, read by hand: it comes more often than all others together.

Nothing is allocated by a count that the bytes do not bear out: an element that is not there ends the loop. A test keeps
it equal to what the general codec reads.
"""

import struct
import uuid
from collections.abc import Callable
from typing import Final, NamedTuple

from barnabas.wire.api_table import PRODUCE_FLEXIBLE_SINCE
from barnabas.wire.errors import InvalidRequest
from barnabas.wire.frame import skip_tagged_fields
from barnabas.wire.primitives import read_uvarint

_ID_SINCE: Final = 13

_int16 = struct.Struct(">h")
_int32 = struct.Struct(">i")
_acks_and_timeout = struct.Struct(">hi")


class PartitionRecords(NamedTuple):
    partition: int
    records: bytes | None


class TopicRecords(NamedTuple):
    name: str
    topic_id: uuid.UUID | None
    """Instead of the name, from version 13 on."""
    partitions: list[PartitionRecords]


class ProduceCall(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[TopicRecords]


class MalformedProduce(InvalidRequest):
    """The bytes are not a Produce request of their version."""


def produce_request_reader(version: int) -> Callable[[memoryview, int], ProduceCall]:
    read = _read_flexible if version >= PRODUCE_FLEXIBLE_SINCE else _read_legacy
    by_id = version >= _ID_SINCE

    def decode(payload: memoryview, position: int) -> ProduceCall:
        try:
            return read(payload, position, by_id)
        except (struct.error, IndexError, ValueError) as error:
            raise MalformedProduce(f"the produce request does not follow its schema: {error}") from error

    return decode


def _read_flexible(payload: memoryview, position: int, by_id: bool) -> ProduceCall:
    transactional_id, position = _compact_string(payload, position)
    acks, timeout_ms = _acks_and_timeout.unpack_from(payload, position)
    topic_count, position = read_uvarint(payload, position + 6)
    topics = []
    for _ in range(topic_count - 1):
        topic_id = None
        name: str | None = ""
        if by_id:
            topic_id, position = _uuid(payload, position)
        else:
            name, position = _compact_string(payload, position)
        partition_count, position = read_uvarint(payload, position)
        partitions = []
        for _ in range(partition_count - 1):
            index: int = _int32.unpack_from(payload, position)[0]
            size, position = read_uvarint(payload, position + 4)
            records, position = _bytes(payload, position, size - 1)
            position = skip_tagged_fields(payload, position)
            partitions.append(PartitionRecords(index, records))
        position = skip_tagged_fields(payload, position)
        topics.append(TopicRecords(_required(name), topic_id, partitions))
    skip_tagged_fields(payload, position)
    return ProduceCall(transactional_id, acks, timeout_ms, topics)


def _read_legacy(payload: memoryview, position: int, by_id: bool) -> ProduceCall:
    transactional_id, position = _legacy_string(payload, position)
    acks, timeout_ms = _acks_and_timeout.unpack_from(payload, position)
    topic_count: int = _int32.unpack_from(payload, position + 6)[0]
    position += 10
    topics = []
    for _ in range(topic_count):
        name, position = _legacy_string(payload, position)
        partition_count: int = _int32.unpack_from(payload, position)[0]
        position += 4
        partitions = []
        for _ in range(partition_count):
            index: int = _int32.unpack_from(payload, position)[0]
            size: int = _int32.unpack_from(payload, position + 4)[0]
            records, position = _bytes(payload, position + 8, size)
            partitions.append(PartitionRecords(index, records))
        topics.append(TopicRecords(_required(name), None, partitions))
    return ProduceCall(transactional_id, acks, timeout_ms, topics)


def _compact_string(payload: memoryview, position: int) -> tuple[str | None, int]:
    size, position = read_uvarint(payload, position)
    data, position = _bytes(payload, position, size - 1)
    return (None if data is None else data.decode()), position


def _legacy_string(payload: memoryview, position: int) -> tuple[str | None, int]:
    data, position = _bytes(payload, position + 2, _int16.unpack_from(payload, position)[0])
    return (None if data is None else data.decode()), position


def _bytes(payload: memoryview, position: int, size: int) -> tuple[bytes | None, int]:
    """-1 is null. ValueError where the size is not borne out by the bytes."""
    if size < 0:
        if size != -1:
            raise ValueError(f"a size of {size}")
        return None, position
    end = position + size
    if end > len(payload):
        raise ValueError(f"a field of {size} bytes, {len(payload) - position} are left")
    return bytes(payload[position:end]), end


def _uuid(payload: memoryview, position: int) -> tuple[uuid.UUID | None, int]:
    data, end = _bytes(payload, position, 16)
    return (uuid.UUID(bytes=data) if data is not None and any(data) else None), end


def _required(name: str | None) -> str:
    if name is None:
        raise ValueError("a topic without a name")
    return name
