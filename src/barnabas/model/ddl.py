"""Reads schemas in Spark's DDL without Spark: `id STRING NOT NULL, tags ARRAY<STRING>, at STRUCT<x: INT, y: INT>`.

The result is that of Spark's own parser; where the two could differ (interval types, collations, defaults), the text is
refused, with the place where reading stopped.
"""

import re

from barnabas.model.column_types import PRIMITIVES, Array, Column, Map, Primitive, Struct, Type, first_duplicate

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<quoted>`(?:[^`]|``)+`)|(?P<word>\w+)|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<mark>[<>(),:])",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0"}
_DEPTH_MAX = 50
"""Deeper than any real schema; it limits the recursion of the reader."""
_DECIMAL_MAX = 38


class NotDdl(ValueError):
    """What is wrong, and at which character."""

    def __init__(self, message: str, position: int, length: int = 1) -> None:
        super().__init__(message)
        self.position = position
        self.length = length


def parse_ddl(text: str) -> tuple[Column, ...]:
    """The columns of a schema, in its order. Raises NotDdl."""
    return _Reader(text).columns(":", end="")


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise NotDdl(f"`{text[position]}` has no meaning in a schema", position)
            if found.lastgroup != "space":
                self._tokens.append((str(found.lastgroup), found[0], position))
            position = found.end()
        self._tokens.append(("end", "", len(text.rstrip())))
        self._next = 0
        self._depth = 0

    def columns(self, between: str, *, end: str) -> tuple[Column, ...]:
        """Columns, separated by commas, up to `end`."""
        start = self._next
        found = [self._column(between)]
        while self._take(","):
            found.append(self._column(between))
        if self._text() != end:
            self._fail(f"expected a comma or {end or 'the end'}, not {self._shown()}")
        twice = first_duplicate(column.name for column in found)
        if twice is not None:
            raise NotDdl(f"the column `{twice}` occurs twice", self._tokens[start][2])
        return tuple(found)

    def _column(self, between: str) -> Column:
        kind, text, _ = self._tokens[self._next]
        if kind not in ("word", "quoted"):
            self._fail(f"expected the name of a column, not {self._shown()}")
        self._next += 1
        name = text[1:-1].replace("``", "`") if kind == "quoted" else text
        self._take(between)
        if self._tokens[self._next][0] != "word":
            self._fail(f"the column `{name}` has no type")
        type_ = self._type()
        nullable = True
        if self._take("NOT"):
            if not self._take("NULL"):
                self._fail(f"expected NULL after NOT, not {self._shown()}")
            nullable = False
        comment = None
        if self._take("COMMENT"):
            kind, text, _ = self._tokens[self._next]
            if kind != "text":
                self._fail(f"expected a comment in quotes, not {self._shown()}")
            self._next += 1
            comment = _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])
        return Column(name, type_, nullable, comment)

    def _type(self) -> Type:
        kind, text, position = self._tokens[self._next]
        if kind != "word":
            self._fail(f"expected a type, not {self._shown()}")
        self._next += 1
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise NotDdl(f"types are nested more than {_DEPTH_MAX} deep", position)
        name = text.upper()
        found: Type
        if name == "ARRAY":
            self._expect("<")
            found = Array(self._type())
            self._expect(">")
        elif name == "MAP":
            self._expect("<")
            key = self._type()
            self._expect(",")
            found = Map(key, self._type())
            self._expect(">")
        elif name == "STRUCT":
            self._expect("<")
            found = Struct(() if self._text() == ">" else self.columns(":", end=">"))
            self._expect(">")
        elif name in PRIMITIVES:
            found = self._primitive(PRIMITIVES[name], position)
        else:
            raise NotDdl(f"`{text}` is not a type that a schema can have", position, len(text))
        self._depth -= 1
        return found

    def _primitive(self, name: str, position: int) -> Primitive:
        arguments: list[int] = []
        if name in ("DECIMAL", "CHAR", "VARCHAR") and self._take("("):
            arguments.append(self._number())
            if name == "DECIMAL" and self._take(","):
                arguments.append(self._number())
            self._expect(")")
        if name in ("CHAR", "VARCHAR") and not (arguments and arguments[0] > 0):
            raise NotDdl(f"{name} needs a length: {name}(10)", position, len(name))
        if name == "DECIMAL":
            precision, scale = [*arguments, *(10, 0)[len(arguments) :]]
            if not 0 < precision <= _DECIMAL_MAX or scale > precision:
                raise NotDdl(
                    f"DECIMAL({precision}, {scale}) is not valid: the precision is at most {_DECIMAL_MAX}, "
                    "and the scale at most the precision",
                    position,
                )
            return Primitive(name, (precision, scale))
        return Primitive(name, tuple(arguments))

    def _number(self) -> int:
        text = self._text()
        if not (text.isascii() and text.isdigit()) or len(text) > 9:
            self._fail(f"expected a number, not {self._shown()}")
        self._next += 1
        return int(text)

    def _text(self) -> str:
        return self._tokens[self._next][1]

    def _shown(self) -> str:
        return f"`{self._text()}`" if self._text() else "the end"

    def _take(self, text: str) -> bool:
        if self._text().upper() != text or not text:
            return False
        self._next += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._take(text):
            self._fail(f"expected `{text}`, not {self._shown()}")

    def _fail(self, message: str) -> None:
        _, text, position = self._tokens[self._next]
        raise NotDdl(message, position, max(1, len(text)))
