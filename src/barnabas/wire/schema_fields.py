"""What a field of a kio schema is, read off its annotation, for those who write it and those who walk over it."""

import types
import typing
from typing import Any, NamedTuple


class FieldShape(NamedTuple):
    is_array: bool
    is_nullable: bool
    """The whole field: of an array, the array and not its elements."""
    entity: Any | None
    """The class of the entity, or of an array's elements; None: of a primitive type."""
    kafka_type: str | None
    """Of a primitive, or of an array's elements."""


def shape_of(field: Any) -> FieldShape:
    """Of a dataclass field with kio's metadata."""
    return _shape(field.type, field.metadata.get("kafka_type"))


def _shape(annotation: Any, kafka_type: str | None) -> FieldShape:
    is_nullable = isinstance(annotation, types.UnionType)
    if is_nullable:  # only unions with None exist
        annotation = next(member for member in typing.get_args(annotation) if member is not types.NoneType)
    is_array = typing.get_origin(annotation) is tuple
    if is_array:
        annotation = typing.get_args(annotation)[0]
    entity = annotation if hasattr(annotation, "__flexible__") else None
    return FieldShape(is_array, is_nullable, entity, kafka_type)
