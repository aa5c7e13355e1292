"""Java's properties syntax, the one of every Kafka configuration file.

A line is `key=value`, `key: value` or `key value`. `#` and `!` begin comments. A backslash at the end continues the
line, and elsewhere escapes the next character; backslash-u with four hex digits is a Unicode character.
"""

from collections.abc import Iterator
from typing import Final

_BLANKS: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class NotProperties(ValueError):
    """What is wrong with the text."""


def parse_properties(text: str) -> dict[str, str]:
    """If a key occurs twice, the last value is used. Raises NotProperties for a malformed escape."""
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        key_end = _key_end(line)
        rest = line[key_end:].lstrip(_BLANKS)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANKS)
        properties[_unescape(line[:key_end])] = _unescape(rest).rstrip()
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    pending: str | None = None
    # str.splitlines would also split at characters that are ordinary ones in Java.
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(_BLANKS)
        if pending is None and (not line or line[0] in "#!"):
            continue
        line = (pending or "") + line
        if _ends_in_odd_backslashes(natural):
            pending = line[:-1]
        else:
            pending = None
            if line:  # nothing but continuations is nothing
                yield line
    if pending:
        yield pending


def _ends_in_odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _key_end(line: str) -> int:
    position = 0
    while position < len(line) and line[position] not in "=: \t\f":
        position += 2 if line[position] == "\\" else 1
    return min(position, len(line))


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts, position = [], 0
    while position < len(text):
        character = text[position]
        if character != "\\":
            parts.append(character)
            position += 1
            continue
        escaped = text[position + 1 : position + 2]
        if escaped == "u":
            digits = text[position + 2 : position + 6]
            if len(digits) != 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                raise NotProperties(f"Malformed \\uxxxx encoding in the properties: \\u{digits}")
            parts.append(chr(int(digits, 16)))
            position += 6
        else:
            parts.append(_ESCAPES.get(escaped, escaped))
            position += 2
    return "".join(parts)
