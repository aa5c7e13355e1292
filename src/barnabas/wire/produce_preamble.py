"""A Produce request of one partition, cut in two: what it says before its records, and where those lie.

A producer says the same before its records every time. So whoever has read these bytes once, the preamble, knows them
by sight the next time. Between a correlation id of its own and the records, a request has

    client id | no tagged fields | no transactional id | acks i16 | timeout i32
    | one topic: its name, or its id from version 13 on | one partition: its index i32

and behind the records three times no tagged fields. Where the records are follows from two lengths. Requests of
another shape are not found here, or what is found cannot be read: they are for `produce_request`.
"""

import struct
import uuid
from typing import Final, NamedTuple

from barnabas.wire.api_table import PRODUCE_FLEXIBLE_SINCE
from barnabas.wire.primitives import read_uvarint

PREAMBLE_BYTES_MAX: Final = 400
"""Of one that is worth knowing. A client may call itself by 32 KB."""

_PRODUCE: Final = 0
_ID_SINCE: Final = 13
_VERSION_MAX: Final = 13

_unpack_header = struct.Struct(">hhih").unpack_from
_int16 = struct.Struct(">h")
_int32 = struct.Struct(">i")
_PREAMBLE: Final = 8  # it begins behind the correlation id, with the size of the client id
_CLIENT_ID: Final = 10
# From the end of the client id to the topic: tagged fields, transactional id, acks, timeout, number of topics.
_TO_TOPIC: Final = 1 + 1 + 2 + 4 + 1
# From the end of the topic to the records: number of partitions, index.
_TO_RECORDS: Final = 1 + 4
_ID_BYTES: Final = 16
_ONE: Final = 2  # what an array of one element begins with
_NO_TAGS: Final = bytes(3)


class Preamble(NamedTuple):
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
    if api_key != _PRODUCE or not PRODUCE_FLEXIBLE_SINCE <= version <= _VERSION_MAX:
        return None
    position = start + _CLIENT_ID + _TO_TOPIC + client_id_size
    if client_id_size < 0 or position + _ID_BYTES + _TO_RECORDS >= end:
        return None
    position += (_ID_BYTES if version >= _ID_SINCE else buffer[position]) + _TO_RECORDS
    if not position < end <= len(buffer):
        return None
    preamble = bytes(buffer[start + _PREAMBLE : position])
    try:
        size, position = read_uvarint(buffer, position)
    except (IndexError, ValueError):
        return None
    records_end = position + size - 1
    if records_end + len(_NO_TAGS) != end or buffer[records_end:end] != _NO_TAGS:
        return None
    return version, correlation_id, preamble, position, records_end


def read_preamble(version: int, preamble: bytes) -> Preamble | None:
    """None: it is not what this module's head says."""
    client_id_end = 2 + int.from_bytes(preamble[:2])
    topic_start = client_id_end + _TO_TOPIC
    topic_end = len(preamble) - _TO_RECORDS
    topic = preamble[topic_start:topic_end]
    if (
        preamble[client_id_end : client_id_end + 2] != b"\x00\x00"
        or preamble[topic_start - 1] != _ONE
        or preamble[topic_end] != _ONE
        or not topic
    ):
        return None
    (acks,) = _int16.unpack_from(preamble, client_id_end + 2)
    (partition,) = _int32.unpack_from(preamble, topic_end + 1)
    try:
        preamble[2:client_id_end].decode()
        if version >= _ID_SINCE:
            return Preamble(acks, topic, None, uuid.UUID(bytes=topic), partition)
        if topic[0] >= 0x80:  # its length goes on
            return None
        return Preamble(acks, topic, topic[1:].decode(), None, partition)
    except UnicodeDecodeError:
        return None
