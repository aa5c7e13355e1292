"""Connection profiles: named clusters in one file, each with the properties of a Kafka client.

    [local]
    bootstrap.servers=localhost:9092

    [production]
    bootstrap.servers=kafka-1:9093,kafka-2:9093
    security.protocol=SSL

Below each name is a Kafka properties file, so that the lines of a `client.properties` can be pasted there.
"""

import os
import re
from typing import Final

from barnabas.cli.errors import CommandFailed, suggestion

FILE_VARIABLE: Final = "BARNABAS_PROFILES"
DEFAULT_PROFILE: Final = "default"

_HEADING: Final = re.compile(r"\s*\[\s*([^\]\s]+)\s*\]\s*")
_EXAMPLE: Final = "begin a profile with its name on a line of its own, like [local]"


def profiles_path() -> str:
    config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.environ.get(FILE_VARIABLE) or os.path.join(config_home, "barnabas", "profiles.conf")


def profile_names() -> list[str]:
    text = _read(profiles_path())
    return [] if text is None else list(parse_profiles(profiles_path(), text))


def read_profile(name: str, *, missing_ok: bool = False) -> dict[str, str]:
    path = profiles_path()
    text = _read(path)
    profiles = {} if text is None else parse_profiles(path, text)
    if name in profiles:
        return profiles[name]
    if missing_ok:
        return {}
    if text is None:
        raise CommandFailed(
            f"there is no profile {name}: {path} does not exist",
            hint=f"write [{name}] and below it bootstrap.servers=HOST:PORT into that file",
        )
    known = f"it has {', '.join(profiles)}" if profiles else _EXAMPLE
    raise CommandFailed(f"{path} has no profile {name}", hint=suggestion(name, profiles, known))


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise CommandFailed(f"cannot read {path}: {reason}", hint=f"set {FILE_VARIABLE} to use another file") from error


def parse_profiles(path: str, text: str) -> dict[str, dict[str, str]]:
    sections: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            if heading[1] in sections:
                raise CommandFailed(f"{path}, line {number}: there are two profiles [{heading[1]}]", hint="keep one")
            lines = sections[heading[1]] = []
        elif lines is not None:
            lines.append(line)
        elif line.strip() and line.strip()[0] not in "#!":
            raise CommandFailed(f"{path}, line {number}: a setting outside of any profile", hint=_EXAMPLE)
    return {name: _properties(path, name, "\n".join(lines)) for name, lines in sections.items()}


def _properties(path: str, profile: str, text: str) -> dict[str, str]:
    from barnabas.client.property_names import unknown
    from barnabas.model.properties import NotProperties, parse_properties

    try:
        found = parse_properties(text)
    except NotProperties as error:
        raise CommandFailed(f"{path}, [{profile}]: {error}", hint="write a backslash as two") from error
    for name, nearest in unknown(found).items():
        hint = f"did you mean {nearest}?" if nearest else "give settings of librdkafka with -X"
        raise CommandFailed(f"{path}, [{profile}]: no Kafka client has a setting {name}", hint=hint)
    return found
