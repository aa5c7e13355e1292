"""kio's view of our messages: an independent implementation of Kafka's schemas to compare the codec with."""

import dataclasses
import datetime
import importlib
import io
import typing
from functools import cache
from typing import Any, Final

from kio.serial import entity_reader, entity_writer

from barnabas.wire.schema import Message

NO_TIME: Final = datetime.datetime.fromtimestamp(-0.001, datetime.UTC)

CANNOT_READ: Final = "negative timestamp|milliseconds overflow"
"""Errors of kio for messages that Kafka's clients do send: a time may be -1."""


@cache
def kio_class(api_name: str, version: int, kind: str) -> Any:
    module = f"kio.schema.{api_name}.v{version}.{kind}"
    schema = vars(importlib.import_module(module)).values()
    # The message stands last in its module, after what is nested in it.
    return [value for value in schema if getattr(value, "__module__", "") == module][-1]


def as_kio(value: Any, annotation: Any) -> Any:
    """The same as an object of kio's."""
    arguments = typing.get_args(annotation)
    if value is None:
        return NO_TIME if isinstance(annotation, type) and issubclass(annotation, datetime.datetime) else None
    if type(None) in arguments:
        return as_kio(value, next(each for each in arguments if each is not type(None)))
    if typing.get_origin(annotation) is tuple:
        return tuple(as_kio(each, arguments[0]) for each in value)
    if not dataclasses.is_dataclass(annotation):
        return value
    hints = _type_hints(typing.cast(type, annotation))
    fields = {
        field.name: as_kio(getattr(value, field.name), hints[field.name]) for field in dataclasses.fields(annotation)
    }
    return typing.cast(Any, annotation)(**fields)


@cache
def _type_hints(annotation: type) -> dict[str, Any]:
    return typing.get_type_hints(annotation)


def written_by_kio(schema: Any, message: Message) -> bytes:
    buffer = io.BytesIO()
    entity_writer(schema)(buffer, as_kio(message, schema))
    return buffer.getvalue()


def read_by_kio(schema: Any, data: bytes) -> tuple[Any, int]:
    """The message, and how many bytes it has."""
    read: tuple[Any, int] = entity_reader(schema)(data, 0)
    return read
