"""kio behind one door: bytes of any version become the API's one shape, and the shape becomes bytes of any version.

Decoding: kio builds the class of that version. What the version lacks is set once as attributes of that class, so an
old request answers to every name of the shape (`wire/messages`) and nothing is copied.
Encoding: a writer asks an object for the fields of its version and ignores the rest, so the shape serves as it is.
"""

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any, Final

from kio.serial.errors import SerialError

from barnabas.wire.api_table import PRODUCE_FLEXIBLE_SINCE
from barnabas.wire.array_counts import UNBOUNDED, Reader, checked_reader
from barnabas.wire.compiled_writer import Write, WriteInSlices, compiled_writer, compiled_writer_in_slices
from barnabas.wire.errors import InvalidRequest

# In one array. Each costs 10 to 50 us to handle and to answer, and a megabyte of a request holds half a million empty
# names. Twice as many as the partitions that one request can create.
REQUEST_ELEMENTS_MAX: Final = 20_000


class MalformedMessage(InvalidRequest):
    """The bytes are not what their API key and version say."""


def request_reader(api_name: str, version: int) -> Callable[[memoryview, int], Any]:
    """Reads requests of one version from read-only views; MalformedMessage if they do not follow the schema.

    Bytes after the message are ignored, as Kafka does: librdkafka's Metadata 13 has three of them.
    """
    read = _reader(api_name, version, "request")

    def decode(payload: memoryview, position: int) -> Any:
        try:
            return read(payload, position)[0]
        except (SerialError, ValueError, OverflowError) as error:
            raise MalformedMessage(f"the message does not follow its schema: {error}") from error

    return decode


def decode_request(api_name: str, version: int, payload: memoryview | bytes, position: int) -> Any:
    view = payload if isinstance(payload, bytes) else payload.toreadonly()
    return request_reader(api_name, version)(memoryview(view), position)


def decode_response(api_name: str, version: int, payload: memoryview | bytes, position: int) -> Any:
    message, end = _decode(_reader(api_name, version, "response"), payload, position)
    if end != len(payload):
        raise MalformedMessage(f"{len(payload) - end} bytes follow the end of the response")
    return message


def encode_request(api_name: str, version: int, request: object) -> bytes:
    return _encode(_writer(api_name, version, "request"), request)


def encode_response(api_name: str, version: int, response: object) -> bytes:
    return _encode(_writer(api_name, version, "response"), response)


def response_writer(api_name: str, version: int) -> WriteInSlices:
    """Writes responses with a pause after every few entities, so that a long one need not hold the loop."""
    schema = message_schema(api_name, version, "response")
    in_slices = compiled_writer_in_slices(schema)
    if in_slices is not None:
        return in_slices
    write = compiled_writer(schema)

    def at_once(out: bytearray, response: object) -> Iterator[None]:
        write(out, response)
        return iter(())

    return at_once


def is_flexible(api_name: str, version: int) -> bool:
    if api_name == "produce":  # it is read and answered by hand, and need not import its schema
        return version >= PRODUCE_FLEXIBLE_SINCE
    return bool(_root(_schema(api_name, version, "request")).__flexible__)


def _decode(read: Reader, payload: memoryview | bytes, position: int) -> tuple[Any, int]:
    """The message and where it ends."""
    view = payload if isinstance(payload, bytes) else payload.toreadonly()
    try:
        message, size = read(view, position)
    except (SerialError, ValueError, OverflowError) as error:
        raise MalformedMessage(f"the message does not follow its schema: {error}") from error
    return message, position + size


def _encode(write: Write, message: object) -> bytes:
    out = bytearray()
    write(out, message)
    return bytes(out)


@cache
def _reader(api_name: str, version: int, kind: str) -> Reader:
    schema = _schema(api_name, version, kind)
    _answer_to_every_name(schema, importlib.import_module(f"barnabas.wire.messages.{api_name}"))
    return checked_reader(_root(schema), elements_max=REQUEST_ELEMENTS_MAX if kind == "request" else UNBOUNDED)


@cache
def _writer(api_name: str, version: int, kind: str) -> Write:
    return compiled_writer(message_schema(api_name, version, kind))


@cache
def message_schema(api_name: str, version: int, kind: str) -> Any:
    """kio's class of a request or a response, made ready to write our shapes."""
    schema = _schema(api_name, version, kind)
    _share_defaults(schema, importlib.import_module(f"barnabas.wire.messages.{api_name}"))
    return _root(schema)


def _schema(api_name: str, version: int, kind: str) -> ModuleType:
    return importlib.import_module(f"kio.schema.{api_name}.v{version}.{kind}")


def _root(schema: ModuleType) -> Any:
    """The message itself stands last in its module, after the entities nested in it."""
    return _entities(schema)[-1]


def _entities(schema: ModuleType) -> list[Any]:
    return [value for value in vars(schema).values() if getattr(value, "__module__", "") == schema.__name__]


def _answer_to_every_name(schema: ModuleType, shapes: ModuleType) -> None:
    for entity in _entities(schema):
        present = {field.name for field in dataclasses.fields(entity)}
        for name, default in getattr(shapes, entity.__name__).defaults().items():
            if name not in present:
                setattr(entity, name, default)


def _share_defaults(schema: ModuleType, shapes: ModuleType) -> None:
    """A tagged field that equals the schema's default is left out; an entity of ours never equals one of kio's."""
    for entity in _entities(schema):
        for field in dataclasses.fields(entity):
            if dataclasses.is_dataclass(field.default):
                field.default = getattr(shapes, type(field.default).__name__)()
