"""The 17 configs of a group. Their defaults are broker configs."""

from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.metadata.configs.definition import AtLeast, ConfigDef, ConfigType, Effect, OneOf, Synonym
from barnabas.metadata.configs.effective import BrokerConfigs
from barnabas.metadata.configs.values import parse_value
from barnabas.model.quantities import NotADuration, parse_iso_duration_ms
from barnabas.wire.errors import InvalidConfig

INT, STRING, BOOLEAN = ConfigType.INT, ConfigType.STRING, ConfigType.BOOLEAN


def auto_offset_reset(value: str) -> str | None:
    kind, _, duration = value.partition(":")
    if value in ("earliest", "latest") or (kind == "by_duration" and _is_duration(duration)):
        return None
    return "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."


def _is_duration(text: str) -> bool:
    try:
        return parse_iso_duration_ms(text) >= 0
    except NotADuration:
        return False


def _row(
    name: str,
    default: str,
    minimum: int,
    documentation: str,
    effect: Effect = Effect.ACTS,
) -> ConfigDef:
    synonyms = (Synonym(f"group.{name}"),)
    return ConfigDef(name, INT, default, documentation, AtLeast(minimum), effect=effect, synonyms=synonyms)


_STREAMS: Final = "Streams groups are not supported; their applications use the classic protocol."

_DEFINITIONS: Final = (
    _row("consumer.assignment.interval.ms", "1000", 0, "The shortest time between two assignments."),
    _row("consumer.heartbeat.interval.ms", "5000", 1, "How often members of a consumer group send heartbeats."),
    _row(
        "consumer.session.timeout.ms",
        "45000",
        1,
        "How long a member of a consumer group may send no heartbeat before it is removed.",
    ),
    _row("share.assignment.interval.ms", "1000", 0, "The shortest time between two assignments."),
    ConfigDef(
        "share.auto.offset.reset",
        STRING,
        "latest",
        "Where a new share group begins to read: earliest, latest, or by_duration:PnDTnHnMn.nS ago.",
        auto_offset_reset,
    ),
    _row("share.delivery.count.limit", "5", 2, "How many times a record is delivered before it is archived."),
    _row("share.heartbeat.interval.ms", "5000", 1, "How often members of a share group send heartbeats."),
    ConfigDef(
        "share.isolation.level",
        STRING,
        "read_uncommitted",
        "Whether a share group gets records of open and aborted transactions.",
        OneOf("read_committed", "read_uncommitted"),
    ),
    _row("share.partition.max.record.locks", "2000", 100, "How many records of a partition may be in flight."),
    _row("share.record.lock.duration.ms", "30000", 1000, "How long a delivered record is locked for its consumer."),
    ConfigDef("share.renew.acknowledge.enable", BOOLEAN, "true", "Whether a consumer may renew its lock on a record."),
    _row(
        "share.session.timeout.ms",
        "45000",
        1,
        "How long a member of a share group may send no heartbeat before it is removed.",
    ),
    _row("streams.assignment.interval.ms", "1000", 0, _STREAMS, Effect.ACCEPTED),
    _row("streams.heartbeat.interval.ms", "5000", 1, _STREAMS, Effect.ACCEPTED),
    _row("streams.initial.rebalance.delay.ms", "3000", 0, _STREAMS, Effect.ACCEPTED),
    _row("streams.num.standby.replicas", "0", 0, _STREAMS, Effect.ACCEPTED),
    _row("streams.session.timeout.ms", "45000", 1, _STREAMS, Effect.ACCEPTED),
)
GROUP_CONFIGS: Final = {definition.name: definition for definition in _DEFINITIONS}

_KINDS: Final = ("consumer", "share", "streams")
_BOUNDED: Final = (
    *(f"{kind}.{name}" for kind in _KINDS for name in ("heartbeat.interval.ms", "session.timeout.ms")),
    *(f"{kind}.assignment.interval.ms" for kind in _KINDS),
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
)
"""Each has a broker config for its smallest and its largest value, such as group.consumer.min.heartbeat.interval.ms."""


def validate_group_configs(overrides: Mapping[str, str], broker: BrokerConfigs) -> None:
    """Validate all configs of a group together. Raises InvalidConfig with Kafka's messages."""
    for name in overrides:
        if name not in GROUP_CONFIGS:
            raise InvalidConfig(f"Unknown group config name: {name}")
    values = {name: parse_value(GROUP_CONFIGS[name], text) for name, text in overrides.items()}
    numbers = {name: value for name, value in values.items() if isinstance(value, int)}
    for complaint in _complaints(numbers, broker):
        raise InvalidConfig(complaint)


def _complaints(numbers: Mapping[str, int], broker: BrokerConfigs) -> Iterator[str]:
    for name in _BOUNDED:
        if name in numbers:
            kind, _, rest = name.partition(".")
            lowest, highest = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"
            if numbers[name] < broker.integer(lowest):
                yield f"{name} must be greater than or equal to {lowest}"
            if numbers[name] > broker.integer(highest):
                yield f"{name} must be less than or equal to {highest}"
    standby = "streams.num.standby.replicas"
    if standby in numbers and numbers[standby] > broker.integer("group.streams.max.standby.replicas"):
        yield f"{standby} must be less than or equal to group.streams.max.standby.replicas"
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session in numbers or heartbeat in numbers:
            timeout_ms = numbers.get(session, broker.integer(f"group.{session}"))
            if timeout_ms <= numbers.get(heartbeat, broker.integer(f"group.{heartbeat}")):
                yield f"{session} must be greater than {heartbeat}"
