"""Splits Spark's SQL into words, names and punctuation; comments and the contents of strings are dropped.

It accepts everything that Spark accepts. An unclosed string, comment or quoted name is an error with its place.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_PIECE = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<line_comment>--[^\n]*)"
    r"|(?P<comment>/\*)"
    r"|(?P<raw>[rR]'[^']*'|[rR]\"[^\"]*\")"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<quoted>`(?:[^`]|``)*`)"
    r"|(?P<dollar>\$[A-Za-z_]*\$)"
    r"|(?P<number>(?:\d+\.\d*|(?<![\w`])\.\d+)(?:[eE][+-]?\d+)?(?:(?:BD|[DFLSY])\b)?)"
    r"|(?P<word>\w+)"
    r"|(?P<mark>.)",
    re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_OPEN = {"'": "a string", '"': "a string", "`": "a name in back quotes"}


class NotSql(ValueError):
    """A mistake, and its position."""

    def __init__(self, message: str, position: int, hint: str) -> None:
        super().__init__(message)
        self.position = position
        self.hint = hint


class Token(NamedTuple):
    kind: str
    """word, quoted, mark or string; numbers with a decimal point are strings, too."""
    text: str
    """A name without its back quotes; a string is empty."""
    position: int

    @property
    def keyword(self) -> str:
        """In capitals; a quoted name is never a keyword."""
        return self.text.upper() if self.kind == "word" else ""


def tokens(sql: str) -> Iterator[Token]:
    position = 0
    while position < len(sql):
        piece = _PIECE.match(sql, position)
        assert piece is not None  # the last alternative takes any character
        kind, text, end = piece.lastgroup, piece[0], piece.end()
        if kind == "comment":
            end = _end_of_comment(sql, position)
        elif kind == "dollar":
            end = sql.find(text, end) + len(text)
            if end < len(text):
                raise NotSql(f"the string that begins with {text} does not end", position, f"close it with {text}")
            yield Token("string", "", position)
        elif kind in ("raw", "string", "number"):
            yield Token("string", "", position)
        elif kind == "quoted":
            yield Token("quoted", text[1:-1].replace("``", "`"), position)
        elif kind == "word":
            yield Token("word", text, position)
        elif kind == "mark":
            if text in _OPEN:
                raise NotSql(f"{_OPEN[text]} is not closed", position, f"close it with {text}")
            yield Token("mark", text, position)
        position = end


def _end_of_comment(sql: str, begin: int) -> int:
    """These comments can be nested."""
    depth, position = 1, begin + 2
    while depth:
        edge = _COMMENT_EDGE.search(sql, position)
        if edge is None:
            raise NotSql("this comment is not closed", begin, "close it with */")
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position
