"""Fetch on the wire, for one partition: encoded and decoded by hand, as this is the hot path of a reader.

Version 13 names topics by id, so that a topic that was deleted and created again is not taken for the old one; version
12 (Kafka 2.7) uses names and is otherwise the same. Later versions add nothing for a consumer of one partition. There
is no fetch session: each request is complete.

The response is read up to its records, which are a view of the frame; what follows them is not needed.
"""

import struct
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from barnabas.client.errors import BadAnswer
from barnabas.wire.errors import ErrorCode
from barnabas.wire.primitives import NO_TAGGED_FIELDS, compact_string, read_uvarint

BY_NAME, BY_ID = 12, 13
"""Versions."""

_HEAD: Final = Struct(">iiiibii")  # replica, max wait, min bytes, max bytes, isolation level, session id and epoch
_PARTITION: Final = Struct(">iiqiqi")  # index, leader epoch, offset, last fetched epoch, log start, max bytes
_ANSWER: Final = Struct(">ihi")  # throttle time, error, session id
_ANSWER_PARTITION: Final = Struct(">ihqqq")  # index, error, high watermark, last stable offset, log start
_ABORTED: Final = Struct(">qq")  # producer id, first offset
_REPLICA: Final = Struct(">i")

_CONSUMER: Final = -1
_NO_SESSION: Final = (0, -1)
_ONE: Final = b"\x02"  # elements, or none: compact arrays count from 1
_NONE: Final = b"\x01"
_UUID_BYTES: Final = 16
_NOT_KAFKA: Final = "is it a Kafka broker, and does nothing in between change the bytes?"


class Question(NamedTuple):
    topic: str
    topic_id: UUID | None
    """None: ask by name."""
    partition: int
    leader_epoch: int
    offset: int
    isolation_level: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int

    def encode(self) -> bytes:
        return b"".join(
            (
                _HEAD.pack(
                    _CONSUMER, self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level, *_NO_SESSION
                ),
                _ONE,
                compact_string(self.topic) if self.topic_id is None else self.topic_id.bytes,
                _ONE,
                _PARTITION.pack(self.partition, self.leader_epoch, self.offset, -1, -1, self.partition_max_bytes),
                NO_TAGGED_FIELDS,
                NO_TAGGED_FIELDS,
                _NONE,  # no forgotten partitions
                compact_string(""),  # rack: read from the leader
                NO_TAGGED_FIELDS,
            )
        )


class Answer(NamedTuple):
    error: ErrorCode
    throttle_ms: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: tuple[tuple[int, int], ...] = ()
    """Producer id and first offset."""
    records: memoryview = memoryview(b"")


def read_answer(body: memoryview, version: int, partition: int) -> Answer:
    """The one partition's part of the answer. BadAnswer if it is missing or cannot be read."""
    try:
        return _read_answer(body, version, partition)
    except (struct.error, IndexError, ValueError) as error:
        raise BadAnswer(f"the broker's answer to a Fetch cannot be read: {error}", _NOT_KAFKA) from error


def _read_answer(body: memoryview, version: int, partition: int) -> Answer:
    throttle_ms, error, _ = _ANSWER.unpack_from(body)
    position = _ANSWER.size
    topics, position = read_uvarint(body, position)
    if error or topics < 2:  # the whole request was refused, or held back by a quota
        return Answer(ErrorCode(error), throttle_ms)
    if version >= BY_ID:
        position += _UUID_BYTES
    else:
        name_size, position = read_uvarint(body, position)
        position += name_size - 1
    _, position = read_uvarint(body, position)
    index, error, high_watermark, last_stable, log_start = _ANSWER_PARTITION.unpack_from(body, position)
    if index != partition:
        raise ValueError(f"partition {index} was not requested")
    position += _ANSWER_PARTITION.size
    count, position = read_uvarint(body, position)
    aborted = []
    for _ in range(count - 1):
        aborted.append(_ABORTED.unpack_from(body, position))
        position = _skip_tags(body, position + _ABORTED.size)
    position += _REPLICA.size
    size, position = read_uvarint(body, position)
    size = max(size - 1, 0)
    if size > len(body) - position:
        raise ValueError(f"{size} bytes of records, {len(body) - position} are there")
    records = body[position : position + size]
    return Answer(ErrorCode(error), throttle_ms, high_watermark, last_stable, log_start, tuple(aborted), records)


def _skip_tags(body: memoryview, position: int) -> int:
    count, position = read_uvarint(body, position)
    for _ in range(count):
        _, position = read_uvarint(body, position)
        size, position = read_uvarint(body, position)
        position += size
    return position
