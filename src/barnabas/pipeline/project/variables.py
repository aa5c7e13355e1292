"""Environment variables in values: `${NAME}`, `${NAME:default}`; `$${` is a plain `${`."""

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Missing(ValueError):
    """A variable that is not set, or not a valid name; its place, and a hint."""

    def __init__(self, message: str, position: int, length: int, hint: str) -> None:
        super().__init__(message)
        self.position = position
        self.length = length
        self.hint = hint


def substitute(text: str, environment: Mapping[str, str]) -> str:
    def fill(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        name, colon, default = (found[1] or "").partition(":")
        if not found[2] or not _NAME.fullmatch(name):
            raise Missing(
                f"`{found[0]}` is not the name of an environment variable",
                found.start(),
                len(found[0]),
                "write ${NAME} or ${NAME:default}; write $${ for a plain ${",
            )
        if name in environment:
            return environment[name]
        if not colon:
            raise Missing(
                f"the environment variable {name} is not set",
                found.start(),
                len(found[0]),
                f"set it, or give a default: ${{{name}:default}}",
            )
        return default

    return _VARIABLE.sub(fill, text)
