"""KEY=VALUE as people type it in `--set`, `--config`, `--header` and `--client-config`."""

import re
from collections.abc import Iterable
from typing import Final

from barnabas.cli.errors import CommandFailed
from barnabas.cli.quantities import duration_ms, size_bytes

# The unit of a value, by the end of the setting's name.
_MS_PER_UNIT: Final = {"ms": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000}
_SIZES: Final = (".bytes", ".buffer.size")
_NUMBER: Final = re.compile(r"\s*[+-]?\d*\s*")


def parse_settings(option: str, values: Iterable[str] | None) -> dict[str, str]:
    """Kafka's settings, where a value may have a unit: `retention.ms=7d`, `segment.bytes=100MB`."""
    return {name: _in_units_of(name, value) for name, value in parse_pairs(option, values).items()}


def parse_pairs(option: str, values: Iterable[str] | None) -> dict[str, str]:
    """The last one of a name wins; a value may contain '='."""
    return dict(parse_pair(option, value) for value in values or ())


def parse_pair(option: str, text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise CommandFailed(f"{option} needs KEY=VALUE, not {text!r}", hint="write it like some.name=value")
    return key.strip(), value


def _in_units_of(name: str, value: str) -> str:
    """A plain number is left as it is: it has the unit of the setting's name."""
    if _NUMBER.fullmatch(value):
        return value
    if name.endswith(_SIZES):
        return str(size_bytes(name, value))
    unit = name.rpartition(".")[2]
    if unit not in _MS_PER_UNIT:
        return value
    count, rest = divmod(duration_ms(name, value), _MS_PER_UNIT[unit])
    if rest:
        raise CommandFailed(f"{name}: {value} is not a whole number of {unit}", hint="round it")
    return str(count)
