"""A response encoded some of its entities at a time, so that a long one need not hold the loop until it is done.

    writing = encode_in_slices("describe_groups", 5, response, buffer)
    for _ in writing:       whoever drives it may let others run here

kio writes an entity in one go. So entities that have arrays of entities in them are written here, field by field, with
kio's own writers for the fields; the others are left to kio. The bytes are the same, which a test checks for all APIs.
"""

import dataclasses
import io
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from kio.serial import entity_writer

# Not public, but there is no other way to one field's writer; the test of equal bytes is the fence around it.
from kio.serial._introspect import EntityTupleField, classify_field
from kio.serial._serialize import get_field_writer
from kio.serial.writers import write_compact_array_length, write_legacy_array_length

from barnabas.wire.codec import response_schema
from barnabas.wire.primitives import NO_TAGGED_FIELDS

ENTITIES_IN_A_SLICE: Final = 32
"""A few microseconds each."""

Write = Callable[[io.BytesIO, Any], None]
WriteInSlices = Callable[[io.BytesIO, Any], Iterator[None]]


class _Array(NamedTuple):
    name: str
    write_length: Write
    whole: Write
    sliced: WriteInSlices | None
    """None: its elements have no arrays of entities."""


class _Plain(NamedTuple):
    name: str
    write: Write


def encode_in_slices(api_name: str, version: int, response: object, buffer: io.BytesIO) -> Iterator[None]:
    """Writes the response to the buffer, with a pause after every slice; a short response has no pause."""
    root = response_schema(api_name, version)
    sliced = _sliced(root)
    if sliced is None:
        entity_writer(root)(buffer, response)
        return iter(())
    return sliced(buffer, response)


@cache
def _sliced(entity_type: Any) -> WriteInSlices | None:
    steps = [_step(field, entity_type.__flexible__) for field in _untagged(entity_type)]
    if not any(isinstance(step, _Array) for step in steps):
        return None
    write_tags = _tag_section(entity_type) if entity_type.__flexible__ else None

    def write(buffer: io.BytesIO, entity: Any) -> Iterator[None]:
        for step in steps:
            value = getattr(entity, step.name)
            if isinstance(step, _Plain):
                step.write(buffer, value)
                continue
            step.write_length(buffer, -1 if value is None else len(value))
            for first in range(0, len(value or ()), ENTITIES_IN_A_SLICE):
                if first:
                    yield
                for element in value[first : first + ENTITIES_IN_A_SLICE]:
                    if step.sliced is None:
                        step.whole(buffer, element)
                    else:
                        yield from step.sliced(buffer, element)
        if write_tags is not None:
            write_tags(buffer, entity)

    return write


def _step(field: Any, flexible: bool) -> _Array | _Plain:
    kind = classify_field(field)
    if isinstance(kind, EntityTupleField):
        write_length: Any = write_compact_array_length if flexible else write_legacy_array_length
        return _Array(field.name, write_length, entity_writer(kind.type_), _sliced(kind.type_))
    return _Plain(field.name, get_field_writer(field, flexible, is_request_header=False, is_tag=False))


def _untagged(entity_type: Any) -> list[Any]:
    return [field for field in dataclasses.fields(entity_type) if "tag" not in field.metadata]


def _write_no_tags(buffer: io.BytesIO, entity: Any) -> None:
    buffer.write(NO_TAGGED_FIELDS)


def _tag_section(entity_type: Any) -> Write:
    """kio's writer of an entity that has the tagged fields alone writes what stands behind the others."""
    tagged = [field for field in dataclasses.fields(entity_type) if "tag" in field.metadata]
    if not tagged:
        return _write_no_tags
    namespace: dict[str, Any] = {
        field.name: dataclasses.field(default=field.default, metadata=field.metadata) for field in tagged
    }
    namespace["__annotations__"] = {field.name: field.type for field in tagged}
    namespace["__flexible__"] = True
    write: Any = entity_writer(dataclasses.dataclass(kw_only=True)(type(entity_type.__name__, (), namespace)))
    return write  # type: ignore[no-any-return]  # kio's overloads want a class of its own
