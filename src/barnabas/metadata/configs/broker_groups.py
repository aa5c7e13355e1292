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
    ConfigDef("group.max.session.timeout.ms", INT, "1800000", "The longest session timeout a member may ask for."),
    ConfigDef("group.max.size", INT, INT_MAX, "How many members a group may have.", AtLeast(1)),
    ConfigDef("group.min.session.timeout.ms", INT, "6000", "The shortest session timeout a member may ask for."),
    ConfigDef(
        "offset.metadata.max.bytes",
        INT,
        "4096",
        "How much text a consumer may store beside a committed offset.",
        importance=HIGH,
    ),
    ConfigDef(
        "offsets.commit.timeout.ms",
        INT,
        "5000",
        "How long a commit may wait for its replicas.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "offsets.retention.check.interval.ms",
        LONG,
        "600000",
        "How often committed offsets are looked at for expiry.",
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
        "The number of partitions of __consumer_offsets; it can't change once the topic is there.",
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
        "The segment size of __consumer_offsets, small so that compaction keeps loading short.",
        SEGMENT_BYTES,
        HIGH,
    ),
)
