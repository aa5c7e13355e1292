"""Two things that kio's reader must be spared, and a walk over the fields of a schema that finds them.

**Counts larger than the bytes that are left.** The reader allocates an array by its count before it reads the first
element. A count of two thousand million asks for gigabytes; where the system refuses them, the process ends, and no
`except` sees it. So whatever comes from outside is walked first, no further than to the last array, with runs of fields
of fixed size as one step. What cannot be walked does not follow its schema. Neither do arrays that are null where they
may not be, which the reader passes on. A message without arrays is not walked.

**Tagged fields that the schema does not have**, which newer peers add and everybody must ignore. The reader gives up
on them. Only then is the message walked to its end, and read again without them.
"""

import dataclasses
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from kio.serial import entity_reader

from barnabas.wire.primitives import read_uvarint, uvarint
from barnabas.wire.schema_fields import FieldShape, shape_of

UNBOUNDED: Final = 2**31 - 1

Buffer = memoryview | bytes
Check = Callable[[Buffer, int], None]
Reader = Callable[[Buffer, int], tuple[Any, int]]

_FIXED, _COMPACT, _STRING, _BYTES, _COMPACT_ARRAY, _ARRAY, _TAGS, _NULLABLE_ENTITY = range(8)

_SIZES: Final = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "float64": 8,
    "uuid": 16,
}
_NULL_ENTITY: Final = 0xFF
_SIZES_MIN: Final = {_COMPACT: 1, _STRING: 2, _BYTES: 4, _COMPACT_ARRAY: 1, _ARRAY: 4, _TAGS: 1, _NULLABLE_ENTITY: 1}

_int16 = struct.Struct(">h")
_int32 = struct.Struct(">i")


class Cut(NamedTuple):
    start: int
    end: int
    replacement: bytes


class _Walk:
    """How to get over one entity, or over one element of an array of primitives."""

    __slots__ = ("fixed_size", "has_arrays", "size_min", "steps", "steps_to_last_array")

    def __init__(self, steps: list[tuple[int, Any]]) -> None:
        self.steps = tuple(_merge_fixed(steps))
        """(kind, what it is about): a size; an element's walk and the bounds of the count; tagged fields by tag."""
        counted = [index for index, step in enumerate(self.steps) if _has_arrays(*step)]
        self.has_arrays = bool(counted)
        self.steps_to_last_array = self.steps[: counted[-1] + 1] if counted else ()
        self.size_min: int = sum(size if kind == _FIXED else _SIZES_MIN[kind] for kind, size in self.steps)
        self.fixed_size = self.size_min if [kind for kind, _ in self.steps] == [_FIXED] else 0
        """0 where it varies."""


def checked_reader(entity_type: Any, *, elements_max: int = UNBOUNDED) -> Reader:
    """kio's reader of such an entity, behind the check."""
    read: Reader = entity_reader(entity_type)
    check = check_of(entity_type, elements_max=elements_max)

    def read_checked(data: Buffer, position: int) -> tuple[Any, int]:
        if check is not None:
            check(data, position)
        try:
            return read(data, position)
        except KeyError:  # an unknown tag
            return _read_without_unknown_tags(read, _entity(entity_type, elements_max), data, position)

    return read_checked


def _read_without_unknown_tags(read: Reader, walk: "_Walk", data: Buffer, start: int) -> tuple[Any, int]:
    cuts: list[Cut] = []
    try:
        end = _check(walk, data, start, len(data), False, cuts)
    except (IndexError, struct.error):
        raise ValueError("the message ends too early") from None
    pieces: list[Buffer] = []
    position = start
    for cut in sorted(cuts):
        pieces += (data[position : cut.start], cut.replacement)
        position = cut.end
    pieces.append(data[position:end])
    message, _ = read(b"".join(pieces), 0)
    return message, end - start


def check_of(entity_type: Any, *, elements_max: int = UNBOUNDED) -> Check | None:
    """A function that raises ValueError where the bytes from a position on cannot be such an entity; None: no need."""
    walk = _entity(entity_type, elements_max)
    if not walk.has_arrays:
        return None

    def check(data: Buffer, position: int) -> None:
        try:
            _check(walk, data, position, len(data), True, None)
        except (IndexError, struct.error):
            raise ValueError("the message ends too early") from None

    return check


def _check(walk: _Walk, data: Buffer, position: int, end: int, is_last: bool, cuts: list[Cut] | None) -> int:
    """Where it ends, unless `is_last`: then nothing behind its last array matters.

    `cuts` collects what must go for the unknown tags to be gone. Small numbers are read in place.
    """
    steps = walk.steps_to_last_array if is_last else walk.steps
    for step in steps:
        kind, argument = step
        if kind == _FIXED:
            position += argument
        elif kind == _TAGS:
            position = _check_tags(argument, data, position, end, cuts) if data[position] else position + 1
        elif kind == _COMPACT:
            if (length := data[position]) < 0x80:
                position += length or 1
            else:
                length, position = read_uvarint(data, position)
                position += max(0, length - 1)
        elif kind in (_COMPACT_ARRAY, _ARRAY):
            if kind == _ARRAY:
                (count,) = _int32.unpack_from(data, position)
                position += 4
            else:
                if (count := data[position]) < 0x80:
                    position += 1
                else:
                    count, position = read_uvarint(data, position)
                count -= 1
            element, count_min, count_max = argument
            if not count_min <= count <= count_max:
                raise ValueError(f"an array of {count} elements, where {count_min} to {count_max} are allowed")
            if count * element.size_min > end - position:
                raise ValueError(f"an array of {count} elements, {end - position} bytes are left")
            if count > 0:
                position = _check_elements(element, count, data, position, end, is_last and step is steps[-1], cuts)
        elif kind == _STRING:
            position += 2 + max(0, _int16.unpack_from(data, position)[0])
        elif kind == _BYTES:
            position += 4 + max(0, _int32.unpack_from(data, position)[0])
        else:  # an entity that may be null: a byte says whether
            marker = data[position]
            position += 1
            if marker < 0x80:
                position = _check(argument, data, position, end, False, cuts)
            elif marker != _NULL_ENTITY:  # null to Kafka; kio would read an entity
                raise ValueError(
                    f"an entity begins with {marker}, which says neither that it is there nor that it is null"
                )
        if position > end:
            raise ValueError("a field is longer than the message")
    return position


def _check_elements(
    element: _Walk, count: int, data: Buffer, position: int, end: int, is_last: bool, cuts: list[Cut] | None
) -> int:
    if is_last and not element.has_arrays:
        return position
    if element.fixed_size:
        return position + count * element.fixed_size
    for _ in range(count - 1):
        position = _check(element, data, position, end, False, cuts)
    return _check(element, data, position, end, is_last, cuts)


def _check_tags(known: dict[int, _Walk], data: Buffer, position: int, end: int, cuts: list[Cut] | None) -> int:
    start = position
    count, position = read_uvarint(data, position)
    unknown = [Cut(start, position, b"")]  # the count, to begin with
    for _ in range(count):
        field_start = position
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        field_end = position + size
        if tag not in known:
            unknown.append(Cut(field_start, field_end, b""))
        # kio goes on where a field that it knows ends, whatever its size was said to be.
        elif _check(known[tag], data, position, end, False, cuts) != field_end:
            raise ValueError(f"tagged field {tag} has not the {size} bytes that it should")
        if field_end > end:
            raise ValueError("a tagged field is longer than the message")
        position = field_end
    if cuts is not None:
        cuts += [unknown[0]._replace(replacement=uvarint(count + 1 - len(unknown))), *unknown[1:]]
    return position


@cache
def _entity(entity_type: Any, elements_max: int) -> _Walk:
    flexible = entity_type.__flexible__
    steps: list[tuple[int, Any]] = []
    tagged: dict[int, _Walk] = {}
    for field in dataclasses.fields(entity_type):
        field_steps = _field(shape_of(field), flexible, elements_max)
        if (tag := field.metadata.get("tag")) is None:
            steps += field_steps
        else:
            tagged[tag] = _Walk(field_steps)
    if flexible:
        steps.append((_TAGS, tagged))
    return _Walk(steps)


def _field(shape: FieldShape, flexible: bool, elements_max: int) -> list[tuple[int, Any]]:
    if shape.is_array:
        element = _Walk(_field(shape._replace(is_array=False, is_nullable=False), flexible, elements_max))
        count_min = -1 if shape.is_nullable else 0
        return [(_COMPACT_ARRAY if flexible else _ARRAY, (element, count_min, elements_max))]
    if shape.entity is not None:
        walk = _entity(shape.entity, elements_max)
        return [(_NULLABLE_ENTITY, walk)] if shape.is_nullable else list(walk.steps)
    if shape.kafka_type in _SIZES:
        return [(_FIXED, _SIZES[shape.kafka_type])]
    if flexible:
        return [(_COMPACT, None)]
    return [(_STRING if shape.kafka_type == "string" else _BYTES, None)]


def _merge_fixed(steps: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    merged: list[tuple[int, Any]] = []
    for kind, argument in steps:
        if kind == _FIXED and merged and merged[-1][0] == _FIXED:
            merged[-1] = (_FIXED, merged[-1][1] + argument)
        else:
            merged.append((kind, argument))
    return merged


def _has_arrays(kind: int, argument: Any) -> bool:
    if kind == _TAGS:
        return any(walk.has_arrays for walk in argument.values())
    return kind in (_COMPACT_ARRAY, _ARRAY) or (kind == _NULLABLE_ENTITY and argument.has_arrays)
