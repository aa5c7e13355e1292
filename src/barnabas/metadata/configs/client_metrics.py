"""The configs of a client metrics subscription (KIP-714): which clients push which metrics, and how often."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.metadata.configs.definition import ConfigDef, ConfigType
from barnabas.metadata.configs.values import parse_value, split_list
from barnabas.wire.errors import InvalidConfig, InvalidRequest

INTERVAL_MS_DEFAULT: Final = 300_000
INTERVAL_MS_MIN: Final = 100
INTERVAL_MS_MAX: Final = 3_600_000

_DEFINITIONS: Final = (
    ConfigDef("interval.ms", ConfigType.INT, str(INTERVAL_MS_DEFAULT), "The time between two pushes of a client."),
    ConfigDef(
        "match",
        ConfigType.LIST,
        "",
        "Which clients push metrics, as attribute=pattern pairs that must all match; by default all clients.",
    ),
    ConfigDef(
        "metrics",
        ConfigType.LIST,
        "",
        "The metrics to push, as prefixes of their names; '*' means all.",
    ),
)
CLIENT_METRICS_CONFIGS: Final = {definition.name: definition for definition in _DEFINITIONS}

ATTRIBUTES: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


class Subscription(NamedTuple):
    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, re.Pattern[str]]

    def matches(self, attributes: Mapping[str, str]) -> bool:
        return all(
            name in attributes and pattern.fullmatch(attributes[name]) is not None
            for name, pattern in self.patterns.items()
        )


def validate_client_metrics_configs(name: str, configs: Mapping[str, str]) -> None:
    """Raises InvalidRequest or InvalidConfig with Kafka's messages."""
    if not name:
        raise InvalidRequest("Subscription name can't be empty")
    for key in configs:
        if key not in CLIENT_METRICS_CONFIGS:
            raise InvalidRequest(f"Unknown client metrics configuration: {key}")
    subscription = parse_subscription(configs)
    if not INTERVAL_MS_MIN <= subscription.interval_ms <= INTERVAL_MS_MAX:
        raise InvalidRequest(
            f"Invalid value {subscription.interval_ms} for interval.ms, interval must be between {INTERVAL_MS_MIN}"
            f" and {INTERVAL_MS_MAX} (1 hour)"
        )


def parse_subscription(configs: Mapping[str, str]) -> Subscription:
    interval_ms = parse_value(CLIENT_METRICS_CONFIGS["interval.ms"], configs.get("interval.ms", "300000"))
    assert isinstance(interval_ms, int)
    return Subscription(
        metrics=split_list("metrics", configs.get("metrics", "")),
        interval_ms=interval_ms,
        patterns=dict(map(_pattern, split_list("match", configs.get("match", "")))),
    )


def _pattern(text: str) -> tuple[str, re.Pattern[str]]:
    attribute, _, pattern = text.partition("=")
    attribute, pattern = attribute.strip(), pattern.strip()
    if attribute not in ATTRIBUTES or not pattern or "=" in pattern:
        raise InvalidConfig(f"Illegal client matching pattern: {text}")
    try:
        return attribute, re.compile(pattern)
    except re.error as error:
        raise InvalidConfig(f"Illegal client matching pattern: {text}") from error
