"""One declaration for all versions of a stored format.

Kafka's stored records grow as its messages do: a field has a first version, some have a last one. Here such a format is
declared once, with all the fields it ever had:

    @versions(0, 4, flexible_since=4)
    class StoredOffset:
        offset: int = int64()
        leader_epoch: int = since(3, int32(-1))
        expire_timestamp: int = only(1, int64(-1))

From that the format of each version is derived when it is first needed. Reading any version gives the declared class,
with defaults where the version has no such field; writing takes the declared class and leaves out what the version
cannot say.
"""

import dataclasses
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast, dataclass_transform

from barnabas.wire.entities import decode_entity, encode_entity, kafka_entity
from barnabas.wire.errors import CorruptMessage

T = TypeVar("T")

_FIRST, _LAST = "first_version", "last_version"
_FOREVER = 2**15 - 1


def since(version: int, field: Any) -> Any:
    return _within(version, _FOREVER, field)


def only(version: int, field: Any) -> Any:
    return _within(version, version, field)


def _within(first: int, last: int, field: Any) -> Any:
    return dataclasses.field(default=field.default, metadata={**field.metadata, _FIRST: first, _LAST: last})


@dataclass_transform(kw_only_default=True)
def versions(first: int, last: int, *, flexible_since: int) -> Callable[[type[T]], type[T]]:
    """Also for an element of such a format: it has the versions of the whole."""

    def declare(declared: type[T]) -> type[T]:
        entity = cast(Any, kafka_entity(version=last, flexible=last >= flexible_since)(declared))
        entity.__versions__ = (first, last)
        entity.__flexible_since__ = flexible_since
        return cast(type[T], entity)

    return declare


def encode_version(entity: object, version: int) -> bytes:
    """The version, as two bytes, and the entity in that version's format."""
    return version.to_bytes(2, "big") + encode_entity(_lowered(entity, version))


def decode_version(entity_type: type[T], stored: bytes) -> T:
    if len(stored) < 2:
        raise CorruptMessage(f"a {entity_type.__name__} has {len(stored)} bytes where its version should be")
    version = int.from_bytes(stored[:2], "big", signed=True)
    first, last = cast(Any, entity_type).__versions__
    if not first <= version <= last:
        raise CorruptMessage(
            f"a {entity_type.__name__} of version {version} is stored; versions {first} to {last} are known"
        )
    shape = _of_version(cast(Any, entity_type), version)
    return cast(T, _raised(decode_entity(shape, stored, 2), entity_type))


@cache
def _of_version(entity_type: Any, version: int) -> Any:
    fields: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for field in dataclasses.fields(entity_type):
        if field.metadata.get(_FIRST, 0) <= version <= field.metadata.get(_LAST, _FOREVER):
            element = _element(field.type)
            annotations[field.name] = field.type if element is None else _tuple_of(_of_version(element, version))
            fields[field.name] = dataclasses.field(default=field.default, metadata=field.metadata)
    flexible = version >= entity_type.__flexible_since__
    is_same = len(fields) == len(dataclasses.fields(entity_type)) and flexible == entity_type.__flexible__
    if is_same and all(field.type == annotations[field.name] for field in dataclasses.fields(entity_type)):
        return entity_type
    shape = type(f"{entity_type.__name__}V{version}", (), {"__annotations__": annotations, **fields})
    return kafka_entity(version=version, flexible=flexible)(shape)


def _element(annotation: Any) -> Any | None:
    """The class of an array's elements, where they have versions too."""
    if typing.get_origin(annotation) is tuple and hasattr(typing.get_args(annotation)[0], "__versions__"):
        return typing.get_args(annotation)[0]
    return None


def _tuple_of(element: Any) -> Any:
    return tuple.__class_getitem__((element, ...))


def _lowered(entity: Any, version: int) -> Any:
    shape = _of_version(cast(Any, type(entity)), version)
    if shape is type(entity):
        return entity
    values = {}
    for field in dataclasses.fields(shape):
        value = getattr(entity, field.name)
        is_array = isinstance(value, tuple) and bool(value) and hasattr(value[0], "__versions__")
        values[field.name] = tuple(_lowered(each, version) for each in value) if is_array else value
    return shape(**values)


def _raised(entity: Any, entity_type: Any) -> Any:
    if type(entity) is entity_type:
        return entity
    elements = {field.name: _element(field.type) for field in dataclasses.fields(entity_type)}
    values = {}
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        element = elements[field.name]
        values[field.name] = value if element is None else tuple(_raised(each, element) for each in value)
    return entity_type(**values)
