"""Broker configs of share groups and of the share coordinator (KIP-932)."""

from typing import Final

from barnabas.metadata.configs.definition import AtLeast, Between, ConfigDef, ConfigType, Update

INT, SHORT = ConfigType.INT, ConfigType.SHORT

_LARGEST: Final = "The largest value that may be set for a group."
_SMALLEST: Final = "The smallest value that may be set for a group."

DEFINITIONS: Final = (
    ConfigDef(
        "group.share.assignment.interval.ms",
        INT,
        "1000",
        "The shortest time between two assignments of a share group.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "group.share.delivery.count.limit",
        INT,
        "5",
        "How many times a record is delivered to a share group before it is archived.",
        Between(2, 10),
    ),
    ConfigDef(
        "group.share.heartbeat.interval.ms",
        INT,
        "5000",
        "How often members of a share group send heartbeats.",
        AtLeast(1),
    ),
    ConfigDef(
        "group.share.initialize.retry.interval.ms",
        INT,
        "30000",
        "After what time a failed initialization of share state is retried.",
        AtLeast(1),
        shown_only_if_set=True,
    ),
    ConfigDef("group.share.max.assignment.interval.ms", INT, "15000", _LARGEST, AtLeast(0)),
    ConfigDef("group.share.max.delivery.count.limit", INT, "10", _LARGEST, Between(5, 25)),
    ConfigDef("group.share.max.heartbeat.interval.ms", INT, "15000", _LARGEST, AtLeast(1)),
    ConfigDef("group.share.max.partition.max.record.locks", INT, "4000", _LARGEST, Between(2000, 10000)),
    ConfigDef("group.share.max.record.lock.duration.ms", INT, "60000", _LARGEST, Between(30000, 3600000)),
    ConfigDef("group.share.max.session.timeout.ms", INT, "60000", _LARGEST, AtLeast(1)),
    ConfigDef(
        "group.share.max.share.sessions", INT, "2000", "The largest number of share sessions of a broker.", AtLeast(1)
    ),
    ConfigDef("group.share.max.size", INT, "200", "The largest number of members of a share group.", Between(1, 1000)),
    ConfigDef("group.share.min.assignment.interval.ms", INT, "0", _SMALLEST, AtLeast(0)),
    ConfigDef("group.share.min.delivery.count.limit", INT, "2", _SMALLEST, Between(2, 5)),
    ConfigDef("group.share.min.heartbeat.interval.ms", INT, "5000", _SMALLEST, AtLeast(1)),
    ConfigDef("group.share.min.partition.max.record.locks", INT, "100", _SMALLEST, Between(100, 2000)),
    ConfigDef("group.share.min.record.lock.duration.ms", INT, "15000", _SMALLEST, Between(1000, 30000)),
    ConfigDef("group.share.min.session.timeout.ms", INT, "45000", _SMALLEST, AtLeast(1)),
    ConfigDef(
        "group.share.partition.max.record.locks",
        INT,
        "2000",
        "How many records of a partition may be in flight in a share group.",
        Between(100, 10000),
    ),
    ConfigDef(
        "group.share.record.lock.duration.ms",
        INT,
        "30000",
        "How long a delivered record is locked for its consumer.",
        Between(1000, 3600000),
    ),
    ConfigDef(
        "group.share.session.timeout.ms",
        INT,
        "45000",
        "How long a member of a share group may send no heartbeat before it is removed.",
        AtLeast(1),
    ),
    ConfigDef(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        INT,
        "300000",
        "How often share states without updates are snapshotted.",
        AtLeast(1),
        shown_only_if_set=True,
    ),
    ConfigDef(
        "share.coordinator.snapshot.update.records.per.snapshot",
        INT,
        "500",
        "After how many updates of a share state a snapshot is written.",
        Between(0, 500),
    ),
    ConfigDef(
        "share.coordinator.state.topic.min.isr",
        SHORT,
        "2",
        "The min.insync.replicas of __share_group_state.",
        AtLeast(1),
    ),
    ConfigDef(
        "share.coordinator.state.topic.num.partitions",
        INT,
        "50",
        "The number of partitions of __share_group_state.",
        AtLeast(1),
    ),
    ConfigDef(
        "share.coordinator.state.topic.prune.interval.ms",
        INT,
        "300000",
        "How often records before the last snapshots are deleted from __share_group_state.",
        AtLeast(1),
        shown_only_if_set=True,
    ),
    ConfigDef(
        "share.coordinator.state.topic.replication.factor",
        SHORT,
        "3",
        "The replication factor of __share_group_state, capped at the number of brokers.",
        AtLeast(1),
    ),
    ConfigDef(
        "share.coordinator.state.topic.segment.bytes",
        INT,
        "104857600",
        "The segment size of __share_group_state.",
        AtLeast(1),
    ),
    ConfigDef(
        "share.coordinator.write.timeout.ms",
        INT,
        "5000",
        "How long a write of share state may wait for its replicas.",
        AtLeast(1),
    ),
)
