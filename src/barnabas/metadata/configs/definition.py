"""The definition of a config: name, type, default, bounds, and whether it has an effect.

Definitions are plain tuples, created in about a microsecond each, because a starting broker needs them. Defaults are in
Kafka's text form, as in DescribeConfigs; `values` converts text to typed values and back.
"""

import enum
from collections.abc import Callable
from typing import Any, Final, NamedTuple

ConfigValue = bool | int | float | str | tuple[str, ...]
Validator = Callable[[Any], str | None]
"""Gets a typed value; returns None, or the end of "Invalid value ... for configuration ...: "."""


class ConfigType(enum.IntEnum):
    """With the values of DescribeConfigs."""

    UNKNOWN = 0
    """For the level of a logger."""
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Effect(enum.Enum):
    ACTS = "acts"
    ACCEPTED = "accepted"
    """Validated and described, but without effect: harmless to ignore."""
    REFUSED = "refused"
    """Refused unless it has its default value, because it must not be ignored."""


class Importance(enum.Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Update(enum.Enum):
    """When a broker config may change, as in Kafka's `dynamicConfigUpdateModes`."""

    READ_ONLY = "read-only"
    CLUSTER_WIDE = "cluster-wide"
    PER_BROKER = "per-broker"


class Synonym(NamedTuple):
    """A broker config that is the default of a topic config. `unit` is the factor between their values."""

    name: str
    unit: int = 1


class ConfigDef(NamedTuple):
    name: str
    type: ConfigType
    default: str | None
    documentation: str
    validator: Validator | None = None
    importance: Importance = Importance.MEDIUM
    effect: Effect = Effect.ACTS
    update: Update = Update.READ_ONLY
    """For broker configs. All topic configs may be altered."""
    synonyms: tuple[Synonym, ...] = ()
    """For topic configs: the broker configs that give the default; the first one that is set wins."""
    shown_only_if_set: bool = False
    """Not in DescribeConfigs unless it is set, like Kafka's internal configs."""

    @property
    def is_sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    @property
    def is_dynamic(self) -> bool:
        return self.update is not Update.READ_ONLY


class AtLeast:
    __slots__ = ("minimum",)

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum

    def __call__(self, value: float) -> str | None:
        return None if value >= self.minimum else f"Value must be at least {self.minimum}"


class Between:
    __slots__ = ("maximum", "minimum")

    def __init__(self, minimum: float, maximum: float) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def __call__(self, value: float) -> str | None:
        if value < self.minimum:
            return f"Value must be at least {self.minimum}"
        return None if value <= self.maximum else f"Value must be no more than {self.maximum}"


class OneOf:
    """For a string, or for every item of a list."""

    __slots__ = ("choices",)

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def __call__(self, value: str | tuple[str, ...]) -> str | None:
        items = (value,) if isinstance(value, str) else value
        if all(item in self.choices for item in items):
            return None
        return f"String must be one of: {', '.join(self.choices)}"


def unlimited_or_positive(value: int) -> str | None:
    return None if value == -1 or value > 0 else "Value must be unlimited (-1) or at least 1"


def gzip_level(value: int) -> str | None:
    return None if value == -1 or 1 <= value <= 9 else "Value must be between 1 and 9 or equal to -1"


COMPRESSION_TYPE: Final = OneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
LZ4_LEVEL: Final = Between(1, 17)
ZSTD_LEVEL: Final = Between(-131072, 22)
CLEANUP_POLICY: Final = OneOf("compact", "delete")
TIMESTAMP_TYPE: Final = OneOf("CreateTime", "LogAppendTime")
SEGMENT_BYTES: Final = AtLeast(1024 * 1024)
LONG_MAX: Final = "9223372036854775807"
INT_MAX: Final = "2147483647"
