"""Reads Kafka's `server.properties`."""

from barnabas.cli.errors import CommandFailed


def read_property_file(path: str) -> dict[str, str]:
    from barnabas.metadata.configs.properties import parse_properties
    from barnabas.wire.errors import InvalidConfig

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
    except InvalidConfig as error:
        raise CommandFailed(f"the configuration {path} cannot be parsed: {error}") from error
