"""Reads Kafka's `server.properties`: the format of java.util.Properties, which is UTF-8 here."""

import re
from collections.abc import Iterator

from barnabas.cli.errors import CommandFailed

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
# A key ends at the first '=', ':' or blank that no backslash protects.
_KEY = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def read_property_file(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return parse_properties(file.read())
    except OSError as error:
        raise CommandFailed(
            f"cannot read the configuration {path}: {error.strerror}",
            hint="give --config the path of a properties file",
        ) from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"the configuration {path} is not text in UTF-8") from error


def parse_properties(text: str) -> dict[str, str]:
    properties = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        assert match is not None, "the pattern matches every string"
        properties[_unescape(match[1])] = _unescape(match[2])
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Without comments and blank lines; a line that ends in an odd number of backslashes goes on in the next."""
    pending = ""
    for line in text.splitlines():
        line = line.lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _CONTROL.get(escaped, escaped)
