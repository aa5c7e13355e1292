"""Broker configs of consumer groups and their offsets."""

from typing import Final

from barnabas.metadata.configs.definition import (
    INT_MAX,
    SEGMENT_BYTES,
    AtLeast,
    ConfigDef,
    ConfigType,
    Importance,
)

INT, SHORT, LONG = ConfigType.INT, ConfigType.SHORT, ConfigType.LONG
HIGH = Importance.HIGH

DEFINITIONS: Final = (
    ConfigDef(
        "group.initial.rebalance.delay.ms",
        INT,
        "3000",
        "How long an empty group waits for more members before its first assignment.",
        AtLeast(0),
    ),
    ConfigDef("group.max.session.timeout.ms", INT, "1800000", "The longest session timeout of a member."),
    ConfigDef("group.max.size", INT, INT_MAX, "The largest number of members of a group.", AtLeast(1)),
    ConfigDef("group.min.session.timeout.ms", INT, "6000", "The shortest session timeout of a member."),
    ConfigDef(
        "offset.metadata.max.bytes",
        INT,
        "4096",
        "The largest metadata string of a committed offset.",
        importance=HIGH,
    ),
    ConfigDef(
        "offsets.commit.timeout.ms",
        INT,
        "5000",
        "How long an offset commit may wait for its replicas.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "offsets.retention.check.interval.ms",
        LONG,
        "600000",
        "How often committed offsets are checked for expiry.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "offsets.retention.minutes",
        INT,
        "10080",
        "How long the offsets of a group without members are kept.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "offsets.topic.num.partitions",
        INT,
        "50",
        "The number of partitions of __consumer_offsets; it cannot be changed once the topic exists.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "offsets.topic.replication.factor",
        SHORT,
        "3",
        "The replication factor of __consumer_offsets, capped at the number of brokers.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "offsets.topic.segment.bytes",
        INT,
        "104857600",
        "The segment size of __consumer_offsets, small so that the coordinator loads quickly.",
        SEGMENT_BYTES,
        HIGH,
    ),
)
