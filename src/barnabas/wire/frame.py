"""Frames and headers: four bytes of size, then a request header, then the body.

Request header v1 is (api key, version, correlation id, client id); v2, used by flexible versions, adds tagged fields.
A response header is the correlation id, plus an empty set of tagged fields for flexible versions; ApiVersions always
answers with the short form, because a client that sends it cannot know yet what the broker understands.
"""

import struct
from typing import Final

from barnabas.wire.codec import MalformedMessage
from barnabas.wire.primitives import read_uvarint

SIZE_BYTES: Final = 4

_unpack_size = struct.Struct(">i").unpack_from
_fixed = struct.Struct(">hhih")
_size_and_correlation = struct.Struct(">ii")
_size_correlation_and_tags = struct.Struct(">iib")


RequestHeader = tuple[int, int, int, str | None, int]
"""API key, version, correlation id, client id, and where the header without tagged fields ends in the payload."""


def read_size(buffer: bytearray | memoryview, position: int) -> int:
    size: int = _unpack_size(buffer, position)[0]
    return size


def read_request_header(payload: memoryview) -> RequestHeader:
    try:
        api_key, api_version, correlation_id, client_id_size = _fixed.unpack_from(payload)
    except struct.error as error:
        raise MalformedMessage("the frame is too short for a request header") from error
    end = _fixed.size
    if client_id_size < 0:
        return api_key, api_version, correlation_id, None, end
    end += client_id_size
    if end > len(payload):
        raise MalformedMessage("the client id is longer than the frame")
    try:
        client_id = str(payload[_fixed.size : end], "utf-8")
    except UnicodeDecodeError as error:
        raise MalformedMessage("the client id is not UTF-8") from error
    return api_key, api_version, correlation_id, client_id, end


def skip_tagged_fields(payload: memoryview, position: int) -> int:
    """Where the body begins: clients may add tagged fields to the header that we do not know."""
    if position < len(payload) and payload[position] == 0:
        return position + 1
    try:
        count, position = read_uvarint(payload, position)
        for _ in range(count):
            _, position = read_uvarint(payload, position)
            size, position = read_uvarint(payload, position)
            position += size
            if position > len(payload):
                raise MalformedMessage("a tagged field of the header is longer than the frame")
    except (IndexError, ValueError) as error:
        raise MalformedMessage("the tagged fields of the header are broken") from error
    return position


def response_prefix(correlation_id: int, body_size: int, *, tagged: bool) -> bytes:
    """Size and header of a response whose body has `body_size` bytes."""
    if tagged:
        return _size_correlation_and_tags.pack(body_size + 5, correlation_id, 0)
    return _size_and_correlation.pack(body_size + 4, correlation_id)
