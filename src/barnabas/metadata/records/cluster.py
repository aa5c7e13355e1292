from barnabas.wire.schema import Message, int8, int16, int32, int64, string

"""Records of the whole cluster: configs, features, producer ids, and metadata transactions."""


class ConfigRecord(Message, versions=(0, 0), flexible_since=0):
    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(None)
    """None: back to the default."""


class FeatureLevelRecord(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    feature_level: int = int16()
    """0: the feature is off."""


class ProducerIdsRecord(Message, versions=(0, 0), flexible_since=0):
    """A block of producer ids was allocated to a broker; the next block begins at `next_producer_id`."""

    broker_id: int = int32()
    broker_epoch: int = int64(-1)
    next_producer_id: int = int64()


class NoOpRecord(Message, versions=(0, 0), flexible_since=0):
    """Only advances the end of the log, so that observers see that the leader is alive."""


class BeginTransactionRecord(Message, versions=(0, 0), flexible_since=0):
    """The following records take effect with the EndTransactionRecord."""

    name: str | None = string(None, tag=0)


class EndTransactionRecord(Message, versions=(0, 0), flexible_since=0):
    """The records since the BeginTransactionRecord take effect."""


class AbortTransactionRecord(Message, versions=(0, 0), flexible_since=0):
    """The records since the BeginTransactionRecord are dropped."""

    reason: str | None = string(None, tag=0)


class ZkMigrationStateRecord(Message, versions=(0, 0), flexible_since=0):
    """Written by clusters that were migrated from ZooKeeper."""

    zk_migration_state: int = int8()
