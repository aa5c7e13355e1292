"""Writers of Kafka's messages and stored records, compiled from their schemas when they are first needed.

kio's own writer asks every field of every object for its type again, which costs 3 us and more for each entity; an
answer or a commit may have thousands. Here an entity becomes the source of one function: neighbouring fields of fixed
size are one `struct`, strings and arrays a line or two, entities within it calls. The bytes are kio's, which a test
checks for every API and version.

    write = compiled_writer(FetchResponse)          write(out: bytearray, entity)
    write = compiled_writer_in_slices(...)          the same as an iterator, with a pause after every few entities of an
                                                    array; None where the entity has no array of entities
"""

import dataclasses
import struct
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from kio.serial._implicit_defaults import get_tagged_field_default

from barnabas.wire.primitives import uvarint
from barnabas.wire.schema_fields import FieldShape, shape_of

ENTITIES_IN_A_SLICE: Final = 32

Write = Callable[[bytearray, Any], None]
WriteInSlices = Callable[[bytearray, Any], Iterator[None]]

_FIXED: Final = {
    "bool": ("?", "{}"),
    "int8": ("b", "{}"),
    "uint8": ("B", "{}"),
    "int16": ("h", "{}"),
    "uint16": ("H", "{}"),
    "error_code": ("h", "{}"),
    "int32": ("i", "{}"),
    "uint32": ("I", "{}"),
    "int64": ("q", "{}"),
    "uint64": ("Q", "{}"),
    "float64": ("d", "{}"),
    "timedelta_i32": ("i", "milliseconds({})"),
    "timedelta_i64": ("q", "milliseconds({})"),
    "datetime_i64": ("q", "epoch_milliseconds({})"),
    "uuid": ("16s", "uuid_bytes({})"),
}
"""Format and expression of each type whose size is always the same."""


@cache
def compiled_writer(entity_type: Any) -> Write:
    source = _Source()
    source.entity("out", entity_type)
    write: Write = source.compile(f"write_{entity_type.__name__}")
    return write


@cache
def compiled_writer_in_slices(entity_type: Any) -> WriteInSlices | None:
    if not _has_entity_arrays(entity_type):
        return None
    source = _Source(in_slices=True)
    source.entity("out", entity_type)
    write: WriteInSlices = source.compile(f"write_{entity_type.__name__}_in_slices")
    return write


def _has_entity_arrays(entity_type: Any) -> bool:
    shapes = [shape_of(field) for field in dataclasses.fields(entity_type) if "tag" not in field.metadata]
    return any(shape.is_array and shape.entity is not None for shape in shapes)


class _Source:
    """The body of one function, line by line. Fields of fixed size gather until something else must be written."""

    def __init__(self, *, in_slices: bool = False) -> None:
        self._in_slices = in_slices
        self._lines: list[str] = []
        self._indent = 1
        self._formats: list[str] = []
        self._values: list[str] = []
        self._names: dict[str, object] = {
            "uvarint": uvarint,
            "pack": struct.pack,
            "milliseconds": _milliseconds,
            "epoch_milliseconds": _epoch_milliseconds,
            "uuid_bytes": _uuid_bytes,
        }

    def compile(self, name: str) -> Any:
        source = "\n".join([f"def {name}(out, entity):", *self._lines])
        exec(compile(source, f"<{name}>", "exec"), self._names)
        return self._names[name]

    def entity(self, out: str, entity_type: Any) -> None:
        flexible = entity_type.__flexible__
        tagged: dict[int, Any] = {}
        for field in dataclasses.fields(entity_type):
            if (tag := field.metadata.get("tag")) is None:
                self._field(out, f"entity.{field.name}", shape_of(field), flexible)
            else:
                tagged[tag] = field
        if tagged:
            self._tagged_fields(out, tagged)
        elif flexible:
            self._formats.append("x")  # no tagged fields: a zero
        self._flush(out)

    # --- one field

    def _field(self, out: str, value: str, shape: FieldShape, flexible: bool) -> None:
        if shape.is_array:
            self._array(out, value, shape, flexible)
        elif shape.entity is not None:
            self._nested(out, value, shape)
        elif shape.kafka_type in _FIXED:
            self._fixed(value, shape.kafka_type)
        else:
            self._sized(out, value, shape, flexible)

    def _fixed(self, value: str, kafka_type: str) -> None:
        code, expression = _FIXED[kafka_type]
        self._formats.append(code)
        self._values.append(expression.format(value))

    def _nested(self, out: str, value: str, shape: FieldShape) -> None:
        self._flush(out)
        write = self._constant("write", compiled_writer(shape.entity))
        if not shape.is_nullable:
            self._line(f"{write}({out}, {value})")
            return
        self._line(f"value = {value}")
        self._line("if value is None:")
        self._line(f"    {out}.append(255)")
        self._line("else:")
        self._line(f"    {out}.append(1)")
        self._line(f"    {write}({out}, value)")

    def _sized(self, out: str, value: str, shape: FieldShape, flexible: bool) -> None:
        """Strings and bytes: their size in front."""
        self._flush(out)
        is_text = shape.kafka_type == "string"
        size_format = ">h" if is_text and not flexible else ">i"
        self._line(f"value = {value}")
        if shape.is_nullable:
            self._line("if value is None:")
            self._line(f"    {out} += {bytes(1) if flexible else struct.pack(size_format, -1)!r}")
            self._line("else:")
            self._indent += 1
        if is_text:
            self._line("value = value.encode()")
        if flexible:
            self._compact_size(out, "len(value) + 1")
        else:
            self._line(f"{out} += pack({size_format!r}, len(value))")
        self._line(f"{out} += value")
        if shape.is_nullable:
            self._indent -= 1

    def _array(self, out: str, value: str, shape: FieldShape, flexible: bool) -> None:
        self._flush(out)
        self._line(f"items = {value}")
        self._line("if items is None:")
        self._line(f"    {out} += {bytes(1) if flexible else struct.pack('>i', -1)!r}")
        self._line("else:")
        self._indent += 1
        if flexible:
            self._compact_size(out, "len(items) + 1")
        else:
            self._line(f"{out} += pack('>i', len(items))")
        if shape.entity is not None:
            self._elements(out, shape.entity)
        else:
            self._line("for item in items:")
            self._indent += 1
            self._field(out, "item", FieldShape(False, False, None, shape.kafka_type), flexible)
            self._flush(out)
            self._indent -= 1
        self._indent -= 1

    def _elements(self, out: str, entity_type: Any) -> None:
        if not self._in_slices:
            write = self._constant("write", compiled_writer(entity_type))
            self._line("for item in items:")
            self._line(f"    {write}({out}, item)")
            return
        sliced = compiled_writer_in_slices(entity_type)
        write = self._constant("write", compiled_writer(entity_type) if sliced is None else sliced)
        call = f"{write}({out}, item)"
        self._line("for index, item in enumerate(items, 1):")
        self._line(f"    {call if sliced is None else f'yield from {call}'}")
        self._line(f"    if not index % {ENTITIES_IN_A_SLICE}:")
        self._line("        yield")

    # --- tagged fields: those that differ from their defaults, in the order of their tags

    def _tagged_fields(self, out: str, tagged: dict[int, Any]) -> None:
        self._flush(out)
        self._line("tags = bytearray()")
        self._line("count = 0")
        for tag in sorted(tagged):
            field = tagged[tag]
            default = field.default
            if default is dataclasses.MISSING:
                default = get_tagged_field_default(field)
            self._line(f"tagged = entity.{field.name}")
            self._line(f"if tagged != {self._constant('default', default)}:")
            self._indent += 1
            self._line("count += 1")
            self._line("content = bytearray()")
            # Whether it is there says whether it is null.
            self._field("content", "tagged", shape_of(field)._replace(is_nullable=False), flexible=True)
            self._flush("content")
            self._line(f"tags += {uvarint(tag)!r}")
            self._line("tags += uvarint(len(content))")
            self._line("tags += content")
            self._indent -= 1
        self._line(f"{out}.append(count)")
        self._line(f"{out} += tags")

    # --- lines

    def _compact_size(self, out: str, size: str) -> None:
        self._line(f"size = {size}")
        self._line("if size < 128:")
        self._line(f"    {out}.append(size)")
        self._line("else:")
        self._line(f"    {out} += uvarint(size)")

    def _flush(self, out: str) -> None:
        if self._formats:
            packer = self._constant("pack", struct.Struct(">" + "".join(self._formats)).pack)
            self._line(f"{out} += {packer}({', '.join(self._values)})")
            self._formats.clear()
            self._values.clear()
        elif not self._lines:
            self._line("pass")

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    def _constant(self, stem: str, value: object) -> str:
        name = f"{stem}_{len(self._names)}"
        self._names[name] = value
        return name


def _milliseconds(value: timedelta) -> int:
    return value.days * 86_400_000 + value.seconds * 1_000 + round(value.microseconds / 1_000)


def _epoch_milliseconds(value: datetime | None) -> int:
    return -1 if value is None else round(value.timestamp() * 1_000)


def _uuid_bytes(value: Any) -> bytes:
    return bytes(16) if value is None else bytes(value.bytes)
