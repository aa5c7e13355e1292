"""Parses the values of options. Errors say what would be valid."""

import json
import re
from collections.abc import Mapping

from barnabas.model.quantities import DURATION_EXAMPLES, NotADuration, parse_duration_ms
from barnabas.spark.errors import UserError

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1


class Values:
    """The options of one read or write. Names are case-insensitive."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in options.items()}

    def has(self, name: str) -> bool:
        return name.lower() in self._values

    def text(self, name: str) -> str | None:
        value = self._values.get(name.lower())
        return None if value is None else value.strip()

    def boolean(self, name: str, default: bool) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise UserError(f"The option {name} is {value!r}.", "it is either true or false")
        return value.lower() == "true"

    def integer(self, name: str, *, at_least: int, at_most: int = LONG_MAX) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        number = whole_number(value)
        if number is None or not at_least <= number <= at_most:
            bounds = f"of at least {at_least}" if at_most == LONG_MAX else f"from {at_least} to {at_most}"
            raise UserError(f"The option {name} is {value!r}.", f"it is a whole number {bounds}")
        return number

    def integer_or(self, name: str, default: int, *, at_least: int, at_most: int = LONG_MAX) -> int:
        number = self.integer(name, at_least=at_least, at_most=at_most)
        return default if number is None else number

    def duration_ms(self, name: str, default: str) -> int:
        value = self.text(name) or default
        try:
            return parse_duration_ms(value, bare_unit="ms")  # as in Spark's own settings
        except NotADuration:
            hint = f"it is a duration with a unit, like {DURATION_EXAMPLES}"
            raise UserError(f"The option {name} is {value!r}.", hint) from None


def whole_number(value: str) -> int | None:
    """As Scala's `toLong`: decimal digits with or without a sign; nothing else that Python would accept."""
    return int(value) if re.fullmatch(r"[+-]?[0-9]+", value) else None


def partition_numbers(name: str, text: str) -> dict[str, dict[int, int]]:
    """`{"topic": {"0": 23, "1": -1}}`: a number for each partition."""
    example = f'write it like {{"topicA": {{"0": 23, "1": 42}}, "topicB": {{"0": 7}}}}, and not {_short(text)}'
    parsed = _json(name, text, example)
    numbers: dict[str, dict[int, int]] = {}
    for topic, partitions in parsed.items():
        if not isinstance(partitions, dict):
            raise _shape(name, example)
        numbers[topic] = {}
        for key, number in partitions.items():
            partition = whole_number(key)
            if partition is None or not 0 <= partition <= INT_MAX or type(number) is not int or abs(number) > LONG_MAX:
                raise _shape(name, example)
            numbers[topic][partition] = number
    return numbers


def partition_lists(name: str, text: str) -> dict[str, list[int]]:
    """`{"topic": [0, 1]}`: some partitions of each topic."""
    example = f'write it like {{"topicA": [0, 1], "topicB": [2, 4]}}, and not {_short(text)}'
    parsed = _json(name, text, example)
    lists: dict[str, list[int]] = {}
    for topic, partitions in parsed.items():
        if not isinstance(partitions, list) or not all(type(one) is int and 0 <= one <= INT_MAX for one in partitions):
            raise _shape(name, example)
        lists[topic] = sorted(set(partitions))
    return lists


def _json(name: str, text: str, example: str) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except ValueError:
        raise _shape(name, example) from None
    if not isinstance(parsed, dict):
        raise _shape(name, example)
    return parsed


def _shape(name: str, example: str) -> UserError:
    return UserError(f"The option {name} has the wrong format.", example)


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."
