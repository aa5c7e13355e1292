"""Converts config values between text and types, with the rules and error messages of Kafka's `ConfigDef`."""

import re
from typing import Final

from barnabas.metadata.configs.definition import ConfigDef, ConfigType, ConfigValue
from barnabas.wire.errors import InvalidConfig

_BITS: Final = {ConfigType.SHORT: 15, ConfigType.INT: 31, ConfigType.LONG: 63}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DOUBLE: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")


def parse_value(definition: ConfigDef, text: str) -> ConfigValue:
    """The typed value, validated. Raises InvalidConfig with Kafka's message."""
    value = _parse(definition, text.strip())
    if definition.validator is not None and (problem := definition.validator(value)):
        raise invalid_value(definition, text, problem)
    return value


def invalid_value(definition: ConfigDef, text: str, problem: str) -> InvalidConfig:
    shown = "[hidden]" if definition.is_sensitive else text
    return InvalidConfig(f"Invalid value {shown} for configuration {definition.name}: {problem}")


def _parse(definition: ConfigDef, text: str) -> ConfigValue:
    match definition.type:
        case ConfigType.BOOLEAN:
            if (lowered := text.lower()) not in ("true", "false"):
                raise invalid_value(definition, text, "Expected value to be either true or false")
            return lowered == "true"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            # The length is checked first: a number of a million digits is out of range anyway, and slow to parse.
            if len(text) <= 32 and _INTEGER.fullmatch(text):
                number, bound = int(text), 1 << _BITS[definition.type]
                if -bound <= number < bound:
                    return number
            raise invalid_value(definition, text, f"Not a number of type {definition.type.name}")
        case ConfigType.DOUBLE:
            if not _DOUBLE.fullmatch(text):
                raise invalid_value(definition, text, "Not a number of type DOUBLE")
            return float(text.rstrip("dDfF"))
        case ConfigType.LIST:
            return split_list(definition.name, text)
        case _:
            return text


def split_list(name: str, text: str) -> tuple[str, ...]:
    """The items in order, without duplicates. An empty string is an empty list; an empty item is an error."""
    if not text.strip():
        return ()
    items = tuple(dict.fromkeys(item.strip() for item in text.split(",")))
    if "" in items:
        raise InvalidConfig(f"Configuration '{name}' values must not be empty.")
    return items


def value_text(value: ConfigValue | None) -> str | None:
    """The text form of DescribeConfigs."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return repr(value).replace("e+", "E").replace("e", "E")
        case _:
            return str(value)
