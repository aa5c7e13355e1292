"""Kafka's own record formats, declared as dataclasses in kio's style and served by its reader and our writer.

A room that stores such records (`metadata`, `coordinator`) declares them with `kafka_entity`
and the field functions from here:

    @kafka_entity(version=1, flexible=True)
    class TopicRecord:
        name: str = string()
        topic_id: uuid.UUID | None = uuid_field()
"""

import dataclasses
import uuid
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar, cast, dataclass_transform

from kio.serial.errors import SerialError
from kio.static.constants import EntityType

from barnabas.wire.array_counts import Reader, checked_reader
from barnabas.wire.compiled_writer import compiled_writer
from barnabas.wire.errors import CorruptMessage

T = TypeVar("T")


def _of(kafka_type: str, default: object, tag: int | None) -> Any:
    metadata: dict[str, object] = {"kafka_type": kafka_type}
    if tag is not None:
        metadata["tag"] = tag
    return dataclasses.field(default=default, metadata=metadata)


def int8(default: int = 0, *, tag: int | None = None) -> Any:
    return _of("int8", default, tag)


def int16(default: int = 0, *, tag: int | None = None) -> Any:
    return _of("int16", default, tag)


def uint16(default: int = 0, *, tag: int | None = None) -> Any:
    return _of("uint16", default, tag)


def int32(default: int = 0, *, tag: int | None = None) -> Any:
    return _of("int32", default, tag)


def int64(default: int = 0, *, tag: int | None = None) -> Any:
    return _of("int64", default, tag)


def float64(default: float = 0.0, *, tag: int | None = None) -> Any:
    return _of("float64", default, tag)


def boolean(default: bool = False, *, tag: int | None = None) -> Any:
    return _of("bool", default, tag)


def string(default: str | None = "", *, tag: int | None = None) -> Any:
    return _of("string", default, tag)


def bytes_field(default: bytes | None = b"", *, tag: int | None = None) -> Any:
    return _of("bytes", default, tag)


def uuid_field(default: uuid.UUID | None = None, *, tag: int | None = None) -> Any:
    return _of("uuid", default, tag)


def array_of(kafka_type: str, default: object = (), *, tag: int | None = None) -> Any:
    """An array of a primitive type; None as default where the schema has null."""
    return _of(kafka_type, default, tag)


def array(default: object = (), *, tag: int | None = None) -> Any:
    """An array of entities."""
    metadata: dict[str, object] = {} if tag is None else {"tag": tag}
    return dataclasses.field(default=default, metadata=metadata)


# The field functions are not named as field specifiers: to a type checker each then is a plain default, and every field
# of a Kafka record has one.
@dataclass_transform(kw_only_default=True)
def kafka_entity(*, version: int, flexible: bool) -> Callable[[type[T]], type[T]]:
    """A value: compared by its fields, and never changed after it was made."""

    def declare(declared: type[T]) -> type[T]:
        # Only __init__ is made by the dataclass: six generated methods for each of some fifty formats would take longer
        # than all else that a broker does before it answers.
        entity = cast(Any, dataclasses.dataclass(repr=False, eq=False, kw_only=True)(declared))
        entity.__eq__ = _equal
        entity.__hash__ = _hash
        entity.__repr__ = _repr
        entity.__type__ = EntityType.data
        entity.__version__ = version
        entity.__flexible__ = flexible
        return cast(type[T], entity)

    return declare


def _values(entity: Any) -> tuple[Any, ...]:
    return tuple(getattr(entity, name) for name in entity.__dataclass_fields__)


def _equal(entity: Any, other: object) -> Any:
    return _values(entity) == _values(other) if type(entity) is type(other) else NotImplemented


def _hash(entity: Any) -> int:
    return hash(_values(entity))


def _repr(entity: Any) -> str:
    fields = ", ".join(f"{name}={getattr(entity, name)!r}" for name in entity.__dataclass_fields__)
    return f"{type(entity).__name__}({fields})"


def encode_entity(entity: object) -> bytes:
    out = bytearray()
    compiled_writer(cast(Hashable, type(entity)))(out, entity)
    return bytes(out)


def decode_entity(entity_type: type[T], payload: bytes, position: int = 0) -> T:
    try:
        entity, _ = _reader(cast(Hashable, entity_type))(payload, position)
    except (SerialError, ValueError, OverflowError) as error:
        raise CorruptMessage(f"not a {entity_type.__name__}: {error}") from error
    return cast(T, entity)


@cache
def _reader(entity_type: Hashable) -> Reader:
    return checked_reader(entity_type)
