from barnabas.wire.schema import Message, int8, int16, int32, int64, string

"""Records about the cluster as a whole: configs, features, producer ids, and the metadata log's own transactions."""


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
    """A block of producer ids was handed to a broker; the next block begins at `next_producer_id`."""

    broker_id: int = int32()
    broker_epoch: int = int64(-1)
    next_producer_id: int = int64()


class NoOpRecord(Message, versions=(0, 0), flexible_since=0):
    """Says nothing; moves the end of the log so that observers see the leader is alive."""


class BeginTransactionRecord(Message, versions=(0, 0), flexible_since=0):
    """From here on records count only once an EndTransactionRecord follows."""

    name: str | None = string(None, tag=0)


class EndTransactionRecord(Message, versions=(0, 0), flexible_since=0):
    """What followed the BeginTransactionRecord counts."""


class AbortTransactionRecord(Message, versions=(0, 0), flexible_since=0):
    """What followed the BeginTransactionRecord never happened."""

    reason: str | None = string(None, tag=0)


class ZkMigrationStateRecord(Message, versions=(0, 0), flexible_since=0):
    """Left behind by clusters that once were migrated from ZooKeeper."""

    zk_migration_state: int = int8()
