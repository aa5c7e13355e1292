"""Readers of messages, compiled from their layouts.

What comes from outside may lie. A count is believed only as far as there are bytes for that many elements, and no
further than `elements_max`; a size only as far as the message goes. Null where a version has none, a tagged field that
is not as long as it says and a text that is not UTF-8 are refused. Tagged fields that are not known are passed over.

`read(data, position)` returns the message and where it ends. It raises ValueError (UnicodeDecodeError among them),
IndexError, struct.error or OverflowError for bytes that are not such a message.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from barnabas.wire.schema import ARRAY, ENTITY, Field, Message
from barnabas.wire.source import FORMATS, READ, Source

UNBOUNDED: Final = 2**31 - 1

Read = Callable[[bytes, int], tuple[Any, int]]
ReadInPlace = Callable[[memoryview, int], tuple[Any, int]]


@cache
def message_reader(message: type[Message], version: int, elements_max: int = UNBOUNDED) -> Read:
    read: Read = _Reader(message.layout.is_flexible(version), version, elements_max).compile(message)
    return read


@cache
def message_reader_in_place(message: type[Message], version: int, elements_max: int = UNBOUNDED) -> ReadInPlace:
    """Reads from a view; the message's bytes are parts of that view, not copies."""
    reader = _ReaderInPlace(message.layout.is_flexible(version), version, elements_max)
    read: ReadInPlace = reader.compile(message)
    return read


class _Reader:
    _text = "data[p:q].decode()"

    def __init__(self, flexible: bool, version: int, elements_max: int) -> None:
        self._flexible = flexible
        self._version = version
        self._elements_max = elements_max
        self._source = Source()
        self._fixed: list[tuple[str, str]] = []
        """Neighbouring fields of fixed size that are yet to be read: their names and formats."""

    def compile(self, message: type[Message]) -> Any:
        line = self._source.line
        line("end = len(data)")
        made = self._entity(message)
        line(f"return {made}, p")
        return self._source.compile(f"read_{message.__name__}_v{self._version}", "data, p")

    def _entity(self, message: type[Message]) -> str:
        """The expression that makes it, once all its fields are read."""
        values: dict[str, str] = {}
        tagged: dict[str, Field] = {}
        for name, field in message.layout.fields.items():
            if not field.is_in(self._version):
                values[name] = self._source.constant("default", field.default)
            elif field.tag is None:
                values[name] = self._field(name, field)
            else:
                tagged[name] = field
                values[name] = self._source.name(name)
        self._flush()
        if self._flexible:
            self._tagged_fields({values[name]: field for name, field in tagged.items()})
        return f"{self._source.constant(message.__name__, message)}({', '.join(values.values())})"

    def _field(self, name: str, field: Field) -> str:
        """The expression of its value."""
        if field.kind in FORMATS:
            variable = self._source.name(name)
            self._fixed.append((variable, FORMATS[field.kind]))
            return READ.get(field.kind, "{}").format(variable)
        self._flush()
        if field.kind == ARRAY:
            return self._array(name, field)
        if field.kind == ENTITY:
            return self._nested(name, field)
        return self._sized(name, field)

    def _flush(self) -> None:
        if not self._fixed:
            return
        layout = struct.Struct(">" + "".join(code for _, code in self._fixed))
        variables = "".join(f"{variable}, " for variable, _ in self._fixed)
        self._source.line(f"{variables}= {self._source.constant('unpack', layout.unpack_from)}(data, p)")
        self._source.line(f"p += {layout.size}")
        self._fixed.clear()

    def _sized(self, name: str, field: Field) -> str:
        """Strings and bytes: their size stands in front."""
        line = self._source.line
        is_text = field.kind == "string"
        value = self._source.name(name)
        self._size("int16" if is_text else "int32")
        line("if n < 0:")
        self._null(value, name, field)
        line("else:")
        self._source.indent()
        line("q = p + n")
        line("if q > end:")
        line(f"    raise ValueError(f'{name} has {{n}} bytes, {{end - p}} are left')")
        line(f"{value} = {self._text if is_text else 'data[p:q]'}")
        line("p = q")
        self._source.indent(-1)
        return value

    def _size(self, legacy: str) -> None:
        """Into `n`: of a string, of bytes or of an array; -1 for null."""
        line = self._source.line
        if self._flexible:
            line("n = data[p]")
            line("if n < 128:")
            line("    p += 1")
            line("else:")
            line("    n, p = read_uvarint(data, p)")
            line("n -= 1")
        else:
            line(f"n, = {legacy}_from(data, p)")
            line(f"p += {2 if legacy == 'int16' else 4}")

    def _null(self, value: str, name: str, field: Field) -> None:
        what = "an array of {n} elements" if field.kind == ARRAY else "{n} bytes long"
        if self._version >= field.nullable_since:
            self._source.line("    if n != -1:")
            self._source.line(f"        raise ValueError(f'{name} is {what}')")
            self._source.line(f"    {value} = None")
        else:
            self._source.line(f"    raise ValueError(f'{name} is {what}, and may not be null')")

    def _array(self, name: str, field: Field) -> str:
        assert field.element is not None
        line = self._source.line
        value = self._source.name(name)
        self._size("int32")
        line("if n < 0:")
        self._null(value, name, field)
        line("else:")
        self._source.indent()
        size_min = size_at_least(field.element, self._version, flexible=self._flexible)
        line(f"if n > {self._elements_max}:")
        line(f"    raise ValueError(f'{name} is an array of {{n}} elements, {self._elements_max} are allowed')")
        line(f"if n * {size_min} > end - p:")
        line(f"    raise ValueError(f'{name} is an array of {{n}} elements, {{end - p}} bytes are left')")
        code = FORMATS.get(field.element.kind)
        if code is not None and field.element.kind not in READ:
            line(f"{value} = unpack_from(f'>{{n}}{code}', data, p)")
            line(f"p += n * {size_min}")
        else:
            line(f"{value} = []")
            line("for _ in range(n):")
            self._source.indent()
            element = self._field(name, field.element)
            self._flush()
            line(f"{value}.append({element})")
            self._source.indent(-1)
            line(f"{value} = tuple({value})")
        self._source.indent(-1)
        return value

    def _nested(self, name: str, field: Field) -> str:
        assert field.entity is not None
        if self._version < field.nullable_since:
            return self._entity(field.entity)
        line = self._source.line
        value = self._source.name(name)
        line("n = data[p]")
        line("p += 1")
        line("if n == 255:")
        line(f"    {value} = None")
        line("elif n < 128:")
        self._source.indent()
        made = self._entity(field.entity)
        line(f"{value} = {made}")
        self._source.indent(-1)
        line("else:")
        line(f"    raise ValueError(f'{name} begins with {{n}}: neither there nor null')")
        return value

    def _tagged_fields(self, tagged: dict[str, Field]) -> None:
        """By the names of their values."""
        line = self._source.line
        for value, field in tagged.items():
            line(f"{value} = {self._source.constant('default', field.default)}")
        line("if not data[p]:")
        line("    p += 1")
        line("else:")
        self._source.indent()
        if tagged:
            self._known_tags(tagged)
        else:
            line("p = skip_tagged_fields(data, p, end)")
        self._source.indent(-1)

    def _known_tags(self, tagged: dict[str, Field]) -> None:
        line = self._source.line
        stop = self._source.name("stop")
        tag = self._source.name("tag")
        line("n, p = read_uvarint(data, p)")
        line("for _ in range(n):")
        self._source.indent()
        line(f"{tag}, p = read_uvarint(data, p)")
        line("n, p = read_uvarint(data, p)")
        line(f"{stop} = p + n")
        line(f"if {stop} > end:")
        line("    raise ValueError('a tagged field is longer than the message')")
        for value, field in tagged.items():
            line(f"if {tag} == {field.tag}:")
            self._source.indent()
            read = self._field(f"tag{field.tag}", field)
            self._flush()
            line(f"{value} = {read}")
            line(f"if p != {stop}:")
            line(f"    raise ValueError('tagged field {field.tag} is not as long as it says')")
            self._source.indent(-1)
        line(f"p = {stop}")
        self._source.indent(-1)


class _ReaderInPlace(_Reader):
    _text = "str(data[p:q], 'utf-8')"


def size_at_least(field: Field, version: int, *, flexible: bool) -> int:
    """How many bytes such a field has, or more."""
    if field.kind in FORMATS:
        return struct.calcsize(">" + FORMATS[field.kind])
    if field.kind == ENTITY and version < field.nullable_since:
        assert field.entity is not None
        fields = field.entity.layout.fields.values()
        present = [each for each in fields if each.tag is None and each.is_in(version)]
        return sum(size_at_least(each, version, flexible=flexible) for each in present) + flexible
    if flexible or field.kind == ENTITY:
        return 1
    return 2 if field.kind == "string" else 4
