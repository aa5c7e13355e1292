"""Broker configs of consumer groups with the new protocol (KIP-848)."""

from typing import Final

from barnabas.metadata.configs.definition import (
    INT_MAX,
    AtLeast,
    ConfigDef,
    ConfigType,
    OneOf,
    Update,
)

INT, LIST, STRING = ConfigType.INT, ConfigType.LIST, ConfigType.STRING

_LONGEST: Final = "The largest value that may be set for a group."
_SHORTEST: Final = "The smallest value that may be set for a group."


def migration_policy(value: str) -> str | None:
    choices = OneOf("disabled", "downgrade", "upgrade", "bidirectional")
    return choices(value.lower())


def rebalance_protocols(value: tuple[str, ...]) -> str | None:
    protocols = tuple(name.lower() for name in value)
    if complaint := OneOf("classic", "consumer", "share", "streams")(protocols):
        return complaint
    return None if "classic" in protocols else "Disabling the 'classic' protocol is not supported."


DEFINITIONS: Final = (
    ConfigDef(
        "group.consumer.assignment.interval.ms",
        INT,
        "1000",
        "The shortest time between two assignments of a consumer group. Members that join in between wait.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "group.consumer.assignors",
        LIST,
        "uniform,range",
        "The assignors that members may choose. The first is the default.",
        OneOf("uniform", "range"),
    ),
    ConfigDef(
        "group.consumer.heartbeat.interval.ms",
        INT,
        "5000",
        "How often members of a consumer group send heartbeats.",
        AtLeast(1),
    ),
    ConfigDef("group.consumer.max.assignment.interval.ms", INT, "15000", _LONGEST, AtLeast(0)),
    ConfigDef("group.consumer.max.heartbeat.interval.ms", INT, "15000", _LONGEST, AtLeast(1)),
    ConfigDef("group.consumer.max.session.timeout.ms", INT, "60000", _LONGEST, AtLeast(1)),
    ConfigDef(
        "group.consumer.max.size", INT, INT_MAX, "The largest number of members of a consumer group.", AtLeast(1)
    ),
    ConfigDef(
        "group.consumer.migration.policy",
        STRING,
        "bidirectional",
        "In which direction a group with members may change between the classic and the consumer protocol:"
        " upgrade, downgrade, bidirectional or disabled.",
        migration_policy,
    ),
    ConfigDef("group.consumer.min.assignment.interval.ms", INT, "0", _SHORTEST, AtLeast(0)),
    ConfigDef("group.consumer.min.heartbeat.interval.ms", INT, "5000", _SHORTEST, AtLeast(1)),
    ConfigDef("group.consumer.min.session.timeout.ms", INT, "45000", _SHORTEST, AtLeast(1)),
    ConfigDef(
        "group.consumer.regex.refresh.interval.ms",
        INT,
        "600000",
        "How often regular expressions are resolved again, even if no topic is new.",
        AtLeast(10_000),
        shown_only_if_set=True,
    ),
    ConfigDef(
        "group.coordinator.rebalance.protocols",
        LIST,
        "classic,consumer,streams",
        "The protocols that groups may use. classic cannot be left out; share groups depend on a feature instead.",
        rebalance_protocols,
    ),
    ConfigDef(
        "group.consumer.session.timeout.ms",
        INT,
        "45000",
        "How long a member of a consumer group may send no heartbeat before it is removed.",
        AtLeast(1),
    ),
)
