"""Parses the values of options and arguments, with error messages of our own.

Typer would use pydantic, whose import takes longer than most commands run.
"""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from barnabas.cli.errors import WrongUsage

_TRUE: Final = ("1", "true", "yes", "on")
_FALSE: Final = ("", "0", "false", "no", "off")


class ValueReader:
    """For one parameter of typer, instead of its own parser."""

    def __init__(self, parameter: Any) -> None:
        described = parameter.type_descriptor
        self._is_list = get_origin(described.annotation) is list
        self._type: Any = get_args(described.annotation)[0] if self._is_list else described.annotation
        self._least, self._most = described.parameter_info.min, described.parameter_info.max
        self._name = name_of(parameter)

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """None is a value that was not given."""
        if value is None:
            return () if self._is_list else None
        see = f"see {ctx.command_path} --help"
        return [self._read(one, see) for one in value] if self._is_list else self._read(value, see)

    def _read(self, value: Any, see: str) -> Any:
        if not isinstance(value, str) or self._type is str:  # a default value, or text
            return value
        if issubclass(self._type, Enum):
            return self._choose(value)
        if self._type is bool:
            return self._truth(value, see)
        if self._type is int:
            return self._within_bounds(self._number(int, value, "a whole number", see), see)
        if self._type is float:
            return self._within_bounds(self._number(float, value, "a number", see), see)
        assert self._type is Path, f"{self._name}: values of {self._type} cannot be read"
        return Path(value)

    def _number(self, parse: Callable[[str], Any], value: str, what: str, see: str) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            raise WrongUsage(f"{self._name} must be {what}, not {value!r}", hint=see) from error

    def _within_bounds(self, number: Any, see: str) -> Any:
        if self._least is not None and not number >= self._least:
            raise WrongUsage(f"{self._name} must be at least {self._least}, not {number}", hint=see)
        if self._most is not None and not number <= self._most:
            raise WrongUsage(f"{self._name} must be at most {self._most}, not {number}", hint=see)
        return number

    def _choose(self, value: str) -> Any:
        choices = {str(choice.value): choice for choice in self._type}
        if value not in choices:
            raise WrongUsage(f"{self._name} cannot be {value!r}", hint=f"choose one of {', '.join(choices)}")
        return choices[value]

    def _truth(self, value: str, see: str) -> bool:
        """From the environment: on the command line a flag has no value."""
        if value.lower() not in (*_TRUE, *_FALSE):
            raise WrongUsage(f"{self._name} must be true or false, not {value!r}", hint=see)
        return value.lower() in _TRUE


def name_of(parameter: Any) -> str:
    """The long name of an option, or the placeholder of an argument."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper()).strip("[].")
