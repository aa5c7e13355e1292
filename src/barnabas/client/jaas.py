"""`sasl.jaas.config`: Java's way to write a login, one module with its options, ended by a semicolon."""

import re
from typing import Final, NamedTuple

from barnabas.client.errors import BadProperty

NAME: Final = "sasl.jaas.config"
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_EXAMPLE: Final = (
    'write: org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="secret";'
)

# Java's StreamTokenizer takes both kinds of quotes, and backslashes within them.
_OPTION: Final = re.compile(r"""\s*([\w.$-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"'=]+)""", re.DOTALL)
_MODULE: Final = re.compile(r"\s*([\w.$]+)\s+(\w+)(?=[\s;])")
_END: Final = re.compile(r"\s*;\s*$")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Jaas(NamedTuple):
    module: str
    """Without its package."""
    options: dict[str, str]


def parse(text: str) -> Jaas:
    """Errors never quote it: there are passwords in it."""
    start = _MODULE.match(text)
    if start is None or start[2].lower() not in _FLAGS:
        raise BadProperty(NAME, 'it does not begin with a login module and "required"', _EXAMPLE)
    options: dict[str, str] = {}
    position = start.end()
    while (found := _OPTION.match(text, position)) is not None:
        options[found[1]] = _unquoted(found[2])
        position = found.end()
    if not _END.match(text, position):
        if ";" not in text[position:]:
            raise BadProperty(NAME, "it does not end with a semicolon", _EXAMPLE)
        raise BadProperty(NAME, f"what follows option {len(options)} is not an option", _EXAMPLE)
    return Jaas(start[1].rpartition(".")[2], options)


def _unquoted(value: str) -> str:
    if value[0] not in "\"'":
        return value
    return _ESCAPED.sub(lambda match: _CONTROLS.get(match[1], match[1]), value[1:-1])


def module_for(mechanism: str) -> str:
    """The login module that Kafka has for it."""
    package = "org.apache.kafka.common.security"
    return f"{package}.plain.PlainLoginModule" if mechanism == "PLAIN" else f"{package}.scram.ScramLoginModule"
