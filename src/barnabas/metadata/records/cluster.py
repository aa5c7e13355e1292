"""Records about the cluster as a whole: configs, features, producer ids, and the metadata log's own transactions."""

from barnabas.wire.entities import int8, int16, int32, int64, kafka_entity, string


@kafka_entity(version=0, flexible=True)
class ConfigRecord:
    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(None)
    """None: back to the default."""


@kafka_entity(version=0, flexible=True)
class FeatureLevelRecord:
    name: str = string()
    feature_level: int = int16()
    """0: the feature is off."""


@kafka_entity(version=0, flexible=True)
class ProducerIdsRecord:
    """A block of producer ids was handed to a broker; the next block begins at `next_producer_id`."""

    broker_id: int = int32()
    broker_epoch: int = int64(-1)
    next_producer_id: int = int64()


@kafka_entity(version=0, flexible=True)
class NoOpRecord:
    """Says nothing; moves the end of the log so that observers see the leader is alive."""


@kafka_entity(version=0, flexible=True)
class BeginTransactionRecord:
    """From here on records count only once an EndTransactionRecord follows."""

    name: str | None = string(None, tag=0)


@kafka_entity(version=0, flexible=True)
class EndTransactionRecord:
    """What followed the BeginTransactionRecord counts."""


@kafka_entity(version=0, flexible=True)
class AbortTransactionRecord:
    """What followed the BeginTransactionRecord never happened."""

    reason: str | None = string(None, tag=0)


@kafka_entity(version=0, flexible=True)
class ZkMigrationStateRecord:
    """Left behind by clusters that once were migrated from ZooKeeper."""

    zk_migration_state: int = int8()
