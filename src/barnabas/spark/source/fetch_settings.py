"""How a task fetches: how much at once, and how long it waits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from barnabas.client.errors import BadProperty
from barnabas.spark.arrow.decode import Limits

POLL_TIMEOUT_MS: Final = 120_000
_INT32_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True)
class FetchSettings:
    """A worker holds one response and the rows of one step of it."""

    max_bytes: int = 8 << 20
    """Of a response; a single larger batch is returned anyway. A response costs a worker about a millisecond of Python,
    whatever its size."""
    partition_max_bytes: int = 8 << 20
    min_bytes: int = 1
    max_wait_ms: int = 500
    """How long the broker delays an empty response."""
    poll_timeout_ms: int = POLL_TIMEOUT_MS
    """How long a reader waits without getting anything; the connector's default."""
    check_crc: bool = True
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, properties: Mapping[str, str], *, poll_timeout_ms: int = POLL_TIMEOUT_MS) -> Self:
        """From Kafka's names for the settings of a consumer, with our own defaults."""
        return cls(
            max_bytes=_number(properties, "fetch.max.bytes", cls.max_bytes),
            partition_max_bytes=_number(properties, "max.partition.fetch.bytes", cls.partition_max_bytes),
            min_bytes=_number(properties, "fetch.min.bytes", cls.min_bytes),
            max_wait_ms=_number(properties, "fetch.max.wait.ms", cls.max_wait_ms),
            poll_timeout_ms=poll_timeout_ms,
            check_crc=properties.get("check.crcs", "true").strip().lower() != "false",
        )


def _number(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= _INT32_MAX:
        raise BadProperty(name, f"{text!r} is not a number from 0 to {_INT32_MAX}", "give a number, or leave it out")
    return number
