"""A Produce request of one partition, split in two: the bytes before its records, and where the records are.

A producer sends the same bytes before its records every time. Whoever has read these bytes, the preamble, once can
recognise them the next time. Between the correlation id and the records, a request has

    client id | no transactional id | acks i16 | timeout i32 | one topic: its name, or its id from version 13 on
    | one partition: its index i32

Flexible versions (9 and later) have an empty list of tagged fields after the client id, and three after the records.
Where the records are follows from two lengths. Requests of another shape are not found here, or what is found cannot be
read: they are for the codec.
"""

import struct
import uuid
from typing import Final, NamedTuple

from barnabas.wire.api_table import PRODUCE_FLEXIBLE_SINCE
from barnabas.wire.primitives import read_uvarint

PREAMBLE_BYTES_MAX: Final = 400
"""Longer preambles are not worth a place in a table. A client id may have 32 KB."""

_PRODUCE: Final = 0
_VERSION_MIN: Final = 3
_ID_SINCE: Final = 13
_VERSION_MAX: Final = 13

_unpack_header = struct.Struct(">hhih").unpack_from
_int16 = struct.Struct(">h").unpack_from
_int32 = struct.Struct(">i").unpack_from
_PREAMBLE: Final = 8  # it begins after the correlation id, with the size of the client id
_CLIENT_ID: Final = 10
_ID_BYTES: Final = 16
_NO_TAGS: Final = bytes(3)


class _Shape(NamedTuple):
    """The bytes around the topic."""

    to_topic: int
    """From the end of the client id: tagged fields, transactional id, acks, timeout, number of topics."""
    to_records: int
    """From the end of the topic: number of partitions, index."""
    no_transaction: bytes
    """After the client id."""
    one: bytes
    """How an array of one element begins."""


_FLEXIBLE: Final = _Shape(1 + 1 + 2 + 4 + 1, 1 + 4, b"\x00\x00", b"\x02")
_LEGACY: Final = _Shape(2 + 2 + 4 + 4, 4 + 4, b"\xff\xff", b"\x00\x00\x00\x01")


class Preamble(NamedTuple):
    client_id: str
    acks: int
    topic: bytes
    """The name or the id as it stands in the request, and in the answer."""
    name: str | None
    topic_id: uuid.UUID | None
    partition: int


def find_preamble(buffer: bytearray, start: int, end: int) -> tuple[int, int, bytes, int, int] | None:
    """Of the request that lies in `buffer` from `start` to `end`.

    Returns version, correlation id, preamble, and where the records begin and end. What is in the preamble is not
    looked at: if `read_preamble` cannot read it, the rest means nothing.
    """
    api_key, version, correlation_id, client_id_size = _unpack_header(buffer, start)
    if api_key != _PRODUCE or client_id_size < 0 or not _VERSION_MIN <= version <= _VERSION_MAX:
        return None
    if version < PRODUCE_FLEXIBLE_SINCE:
        position = start + _CLIENT_ID + _LEGACY.to_topic + client_id_size
        if position + 2 > end:
            return None
        position += 2 + _int16(buffer, position)[0] + _LEGACY.to_records
        # A name of negative size would not end in front of its own size.
        if not start + _CLIENT_ID + client_id_size < position <= end - 4:
            return None
        preamble = bytes(buffer[start + _PREAMBLE : position])
        records_end = position + 4 + _int32(buffer, position)[0]
        return (version, correlation_id, preamble, position + 4, records_end) if records_end == end else None
    position = start + _CLIENT_ID + _FLEXIBLE.to_topic + client_id_size
    if position + _ID_BYTES + _FLEXIBLE.to_records >= end:
        return None
    position += (_ID_BYTES if version >= _ID_SINCE else buffer[position]) + _FLEXIBLE.to_records
    if not position < end <= len(buffer):
        return None
    preamble = bytes(buffer[start + _PREAMBLE : position])
    try:
        size, position = read_uvarint(buffer, position)
    except (IndexError, ValueError):
        return None
    records_end = position + size - 1  # null, a size of 0, is left to the codec
    if not size or records_end + len(_NO_TAGS) != end or buffer[records_end:end] != _NO_TAGS:
        return None
    return version, correlation_id, preamble, position, records_end


def read_preamble(version: int, preamble: bytes) -> Preamble | None:
    """None: it is not what this module's docstring says."""
    shape = _FLEXIBLE if version >= PRODUCE_FLEXIBLE_SINCE else _LEGACY
    client_id_end = 2 + int.from_bytes(preamble[:2])
    topic_start = client_id_end + shape.to_topic
    topic_end = len(preamble) - shape.to_records
    topic = preamble[topic_start:topic_end]
    one, acks_start = shape.one, client_id_end + len(shape.no_transaction)
    if (
        preamble[client_id_end:acks_start] != shape.no_transaction
        or preamble[topic_start - len(one) : topic_start] != one
        or preamble[topic_end : topic_end + len(one)] != one
        or not topic
    ):
        return None
    (acks,) = _int16(preamble, acks_start)
    (partition,) = _int32(preamble, topic_end + len(one))
    try:
        client_id = preamble[2:client_id_end].decode()
        if version >= _ID_SINCE:
            return Preamble(client_id, acks, topic, None, uuid.UUID(bytes=topic), partition)
        if shape is _FLEXIBLE:
            if topic[0] >= 0x80:  # its length has a second byte
                return None
            return Preamble(client_id, acks, topic, topic[1:].decode(), None, partition)
        return Preamble(client_id, acks, topic, topic[2:].decode(), None, partition)
    except UnicodeDecodeError:
        return None
