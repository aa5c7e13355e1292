"""Writers of messages, compiled from their layouts.

    write = message_writer(FetchResponse, 17)               write(out: bytearray, message)
    write = message_writer_in_slices(FetchResponse, 17)     the same as an iterator, with a pause after every few
                                                            elements of an array: a long answer need not hold the loop
    write = message_writer_in_pieces(ProduceRequest, 12)    write(message) returns buffers; large ones among the
                                                            message's bytes are not copied

Neighbouring fields of fixed size are one `struct`. Tagged fields are written in the order of their tags; those that
have their default value are not written.
"""

import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from barnabas.wire.primitives import uvarint
from barnabas.wire.schema import ARRAY, ENTITY, Field, Message
from barnabas.wire.source import FORMATS, WRITTEN, Source

ELEMENTS_IN_A_SLICE: Final = 32
# Copying less than this costs less than another buffer for the socket.
COPIED_BELOW_BYTES: Final = 32 * 1024

Buffer = bytes | bytearray | memoryview
Write = Callable[[bytearray, Any], None]
WriteInSlices = Callable[[bytearray, Any], Iterator[None]]
WriteInPieces = Callable[[Any], list[Buffer]]


@cache
def message_writer(message: type[Message], version: int) -> Write:
    write: Write = _Writer(message, version).compile("out, message")
    return write


@cache
def message_writer_in_slices(message: type[Message], version: int) -> WriteInSlices:
    write: WriteInSlices = _InSlices(message, version).compile("out, message")
    return write


@cache
def message_writer_in_pieces(message: type[Message], version: int) -> WriteInPieces:
    write: WriteInPieces = _InPieces(message, version).compile("message")
    return write


class _Writer:
    def __init__(self, message: type[Message], version: int) -> None:
        self._message = message
        self._flexible = message.layout.is_flexible(version)
        self._version = version
        self._source = Source()
        self._formats: list[str] = []
        self._values: list[str] = []

    def compile(self, parameters: str) -> Any:
        self._begin()
        self._entity("out", "message", self._message)
        self._flush("out")
        self._end()
        return self._source.compile(f"write_{self._message.__name__}_v{self._version}", parameters)

    def _begin(self) -> None:
        pass

    def _end(self) -> None:
        self._source.line("return")

    def _entity(self, out: str, value: str, message: type[Message]) -> None:
        tagged: dict[str, Field] = {}
        for name, field in message.layout.fields.items():
            if not field.is_in(self._version):
                continue
            if field.tag is None:
                self._field(out, f"{value}.{name}", field)
            else:
                tagged[f"{value}.{name}"] = field
        if tagged:
            self._tagged_fields(out, tagged)
        elif self._flexible:
            self._formats.append("x")  # no tagged fields: a zero

    # --- one field

    def _field(self, out: str, value: str, field: Field) -> None:
        code = FORMATS.get(field.kind)
        if code is not None:
            self._formats.append(code)
            self._values.append(WRITTEN.get(field.kind, "{}").format(value))
        elif field.kind == ARRAY:
            self._array(out, value, field)
        elif field.kind == ENTITY:
            self._nested(out, value, field)
        else:
            self._sized(out, value, field)

    def _nested(self, out: str, value: str, field: Field) -> None:
        assert field.entity is not None
        if self._version < field.nullable_since:
            self._entity(out, value, field.entity)
            return
        self._flush(out)
        nested = self._source.name("nested")
        self._source.line(f"{nested} = {value}")
        self._source.line(f"if {nested} is None:")
        self._source.line(f"    {out}.append(255)")
        self._source.line("else:")
        self._source.indent()
        self._source.line(f"{out}.append(1)")
        self._entity(out, nested, field.entity)
        self._flush(out)
        self._source.indent(-1)

    def _sized(self, out: str, value: str, field: Field) -> None:
        """Strings and bytes: their size stands in front."""
        self._flush(out)
        line = self._source.line
        is_text = field.kind == "string"
        size_format = ">h" if is_text and not self._flexible else ">i"
        line(f"value = {value}")
        is_nullable = self._version >= field.nullable_since
        if is_nullable:
            self._null(out, "value", size_format)
        if is_text:
            line("value = value.encode()")
        self._size(out, "value", size_format)
        self._content(out, is_text=is_text)
        if is_nullable:
            self._source.indent(-1)

    def _content(self, out: str, *, is_text: bool) -> None:
        """Of a string or of bytes, which is in `value`."""
        self._source.line(f"{out} += value")

    def _array(self, out: str, value: str, field: Field) -> None:
        assert field.element is not None
        self._flush(out)
        line = self._source.line
        items = self._source.name("items")
        line(f"{items} = {value}")
        is_nullable = self._version >= field.nullable_since
        if is_nullable:
            self._null(out, items, ">i")
        self._size(out, items, ">i")
        self._elements(out, items, field.element)
        if is_nullable:
            self._source.indent(-1)

    def _elements(self, out: str, items: str, element: Field) -> None:
        line = self._source.line
        if element.kind in FORMATS and element.kind not in WRITTEN:
            line(f"{out} += pack(f'>{{len({items})}}{FORMATS[element.kind]}', *{items})")
            return
        item = self._source.name("item")
        line(f"for {item} in {items}:")
        self._source.indent()
        self._field(out, item, element)
        self._flush(out)
        self._source.indent(-1)

    # --- tagged fields

    def _tagged_fields(self, out: str, tagged: dict[str, Field]) -> None:
        self._flush(out)
        line = self._source.line
        tags, count = self._source.name("tags"), self._source.name("count")
        line(f"{tags} = bytearray()")
        line(f"{count} = 0")
        for value, field in sorted(tagged.items(), key=lambda item: item[1].tag or 0):
            content = self._source.name("content")
            line(f"if {value} != {self._source.constant('default', field.default)}:")
            self._source.indent()
            line(f"{count} += 1")
            line(f"{content} = bytearray()")
            self._field(content, value, field)
            self._flush(content)
            line(f"{tags} += {uvarint(field.tag or 0)!r}")
            line(f"{tags} += uvarint(len({content}))")
            line(f"{tags} += {content}")
            self._source.indent(-1)
        line(f"{out}.append({count})")
        line(f"{out} += {tags}")

    # --- lines

    def _null(self, out: str, value: str, size_format: str) -> None:
        """Opens the branch for what is not null."""
        self._source.line(f"if {value} is None:")
        self._source.line(f"    {out} += {bytes(1) if self._flexible else struct.pack(size_format, -1)!r}")
        self._source.line("else:")
        self._source.indent()

    def _size(self, out: str, value: str, size_format: str) -> None:
        line = self._source.line
        if not self._flexible:
            line(f"{out} += pack({size_format!r}, len({value}))")
            return
        line(f"size = len({value}) + 1")
        line("if size < 128:")
        line(f"    {out}.append(size)")
        line("else:")
        line(f"    {out} += uvarint(size)")

    def _flush(self, out: str) -> None:
        if self._formats:
            packer = self._source.constant("pack", struct.Struct(">" + "".join(self._formats)).pack)
            self._source.line(f"{out} += {packer}({', '.join(self._values)})")
            self._formats.clear()
            self._values.clear()


class _InSlices(_Writer):
    def _end(self) -> None:
        self._source.line("yield from ()")  # an iterator, also where there is no array

    def _elements(self, out: str, items: str, element: Field) -> None:
        if out != "out" or element.kind != ENTITY:
            super()._elements(out, items, element)
            return
        line = self._source.line
        index, item = self._source.name("index"), self._source.name("item")
        line(f"for {index}, {item} in enumerate({items}, 1):")
        self._source.indent()
        self._field(out, item, element)
        self._flush(out)
        line(f"if not {index} % {ELEMENTS_IN_A_SLICE}:")
        line("    yield")
        self._source.indent(-1)


class _InPieces(_Writer):
    def _begin(self) -> None:
        self._source.line("pieces = []")
        self._source.line("out = bytearray()")

    def _end(self) -> None:
        self._source.line("if out:")
        self._source.line("    pieces.append(out)")
        self._source.line("return pieces")

    def _content(self, out: str, *, is_text: bool) -> None:
        if is_text or out != "out":
            super()._content(out, is_text=is_text)
            return
        line = self._source.line
        line(f"if len(value) < {COPIED_BELOW_BYTES}:")
        line("    out += value")
        line("else:")
        line("    pieces += (out, value)")
        line("    out = bytearray()")
