"""Reads Kafka's `server.properties`."""

from barnabas.cli.errors import CommandFailed
from barnabas.model.properties import NotProperties, parse_properties


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
        raise CommandFailed(
            f"the configuration {path} is not text in UTF-8", hint="save it in that encoding"
        ) from error
    except NotProperties as error:
        raise CommandFailed(
            f"the configuration {path} cannot be parsed: {error}", hint="write a backslash as two"
        ) from error
