"""One door to Kafka's messages: bytes of any version become the API's one shape, and the shape becomes bytes of any.

A message's layout is declared once (`wire.schema`, `wire/messages`); readers and writers are compiled from it for each
version when they are first needed. Stored records go through the same door (`encode`, `decode`).
"""

import importlib
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, cast

from barnabas.wire.errors import CorruptMessage, InvalidRequest
from barnabas.wire.reader import UNBOUNDED, Read, message_reader, message_reader_in_place
from barnabas.wire.schema import Message
from barnabas.wire.writer import (
    Buffer,
    Write,
    WriteInSlices,
    message_writer,
    message_writer_in_pieces,
    message_writer_in_slices,
)

M = TypeVar("M", bound=Message)

# In one array. Each costs 10 to 50 us to handle and to answer, and a megabyte of a request holds half a million empty
# names. Twice as many as the partitions that one request can create.
REQUEST_ELEMENTS_MAX: Final = 20_000

NOT_SUCH_A_MESSAGE: Final = (ValueError, IndexError, OverflowError, struct.error)
"""What a reader raises."""


class MalformedMessage(InvalidRequest):
    """The bytes are not what their API key and version say."""


# --- requests and responses


def request_reader(api_name: str, version: int) -> Callable[[memoryview, int], Any]:
    """Reads requests of one version; MalformedMessage if they do not follow the schema.

    Bytes after the message are ignored, as Kafka does: librdkafka's Metadata 13 has three of them.
    """
    read = _reader(api_name, version, "request")

    def decode(payload: memoryview, position: int) -> Any:
        try:
            return read(bytes(payload), position)[0]
        except NOT_SUCH_A_MESSAGE as error:
            raise MalformedMessage(f"the message does not follow its schema: {error}") from error

    return decode


def request_reader_in_place(api_name: str, version: int) -> Callable[[memoryview, int], Any]:
    """The same without copies: records and other bytes are parts of the payload, and valid as long as that."""
    read = message_reader_in_place(message_class(api_name, "request"), version, REQUEST_ELEMENTS_MAX)

    def decode(payload: memoryview, position: int) -> Any:
        try:
            return read(payload, position)[0]
        except NOT_SUCH_A_MESSAGE as error:
            raise MalformedMessage(f"the message does not follow its schema: {error}") from error

    return decode


def decode_request(api_name: str, version: int, payload: memoryview | bytes, position: int) -> Any:
    return request_reader(api_name, version)(memoryview(payload), position)


def decode_response(api_name: str, version: int, payload: memoryview | bytes, position: int = 0) -> Any:
    return _read_whole(_reader(api_name, version, "response"), bytes(payload), position)


def decode_response_in_place(api_name: str, version: int, payload: memoryview, position: int = 0) -> Any:
    """Its records and other bytes are parts of `payload`, and live as long."""
    return _read_whole(message_reader_in_place(message_class(api_name, "response"), version), payload, position)


def _read_whole(read: Callable[[Any, int], tuple[Any, int]], payload: memoryview | bytes, position: int) -> Any:
    try:
        message, end = read(payload, position)
    except NOT_SUCH_A_MESSAGE as error:
        raise MalformedMessage(f"the message does not follow its schema: {error}") from error
    if end != len(payload):
        raise MalformedMessage(f"{len(payload) - end} bytes follow the end of the response")
    return message


def encode_request(api_name: str, version: int, request: object) -> bytes:
    return _written(_writer(api_name, version, "request"), request)


def encode_request_in_pieces(api_name: str, version: int, request: object) -> list[Buffer]:
    """Large bytes in it, as the batches of a produce request, are not copied."""
    return message_writer_in_pieces(message_class(api_name, "request"), version)(request)


def encode_response(api_name: str, version: int, response: object) -> bytes:
    return _written(_writer(api_name, version, "response"), response)


def response_writer(api_name: str, version: int) -> WriteInSlices:
    """Writes responses with a pause after every few elements, so that a long one need not hold the loop."""
    return message_writer_in_slices(message_class(api_name, "response"), version)


def is_flexible(api_name: str, version: int) -> bool:
    return message_class(api_name, "request").layout.is_flexible(version)


@cache
def message_class(api_name: str, kind: str) -> type[Message]:
    """Of an API's requests or responses."""
    name = "".join(word.capitalize() for word in api_name.split("_")) + kind.capitalize()
    shape: type[Message] = getattr(importlib.import_module(f"barnabas.wire.messages.{api_name}"), name)
    return shape


@cache
def _reader(api_name: str, version: int, kind: str) -> Read:
    elements_max = REQUEST_ELEMENTS_MAX if kind == "request" else UNBOUNDED
    return message_reader(message_class(api_name, kind), version, elements_max)


@cache
def _writer(api_name: str, version: int, kind: str) -> Write:
    return message_writer(message_class(api_name, kind), version)


def _written(write: Write, message: object) -> bytes:
    out = bytearray()
    write(out, message)
    return bytes(out)


# --- stored records


def encode(stored: Message, version: int | None = None) -> bytes:
    """In its last version, unless told otherwise."""
    layout = stored.layout
    return _written(message_writer(type(stored), layout.last_version if version is None else version), stored)


def decode(shape: type[M], data: bytes, position: int = 0, *, version: int | None = None) -> M:
    """CorruptMessage where the bytes are none; what comes after it is not looked at."""
    read = message_reader(shape, shape.layout.last_version if version is None else version)
    try:
        return cast(M, read(data, position)[0])
    except NOT_SUCH_A_MESSAGE as error:
        raise CorruptMessage(f"not a {shape.__name__}: {error}") from error


def encode_versioned(stored: Message, version: int) -> bytes:
    """The version, as two bytes, and the record in that version."""
    return version.to_bytes(2, "big") + encode(stored, version)


def decode_versioned(shape: type[M], data: bytes) -> M:
    if len(data) < 2:
        raise CorruptMessage(f"a {shape.__name__} has {len(data)} bytes where its version should be")
    version = int.from_bytes(data[:2], "big", signed=True)
    layout = shape.layout
    if not layout.first_version <= version <= layout.last_version:
        raise CorruptMessage(
            f"a {shape.__name__} of version {version} is stored; versions {layout.first_version} to "
            f"{layout.last_version} are known"
        )
    return decode(shape, data, 2, version=version)
