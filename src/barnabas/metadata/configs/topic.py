"""The 33 topic configs of Kafka 4.3, and two that are described only if they are set.

One is internal in Kafka, for small segments in tests. The other, with `barnabas` in its name, is not Kafka's.
"""

from typing import Final

from barnabas.metadata.configs.definition import (
    CLEANUP_POLICY,
    COMPRESSION_TYPE,
    LONG_MAX,
    LZ4_LEVEL,
    SEGMENT_BYTES,
    TIMESTAMP_TYPE,
    ZSTD_LEVEL,
    AtLeast,
    Between,
    ConfigDef,
    ConfigType,
    Effect,
    Synonym,
    gzip_level,
)

BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
LONG, DOUBLE, LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
ACCEPTED, REFUSED = Effect.ACCEPTED, Effect.REFUSED

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000


def throttled_replicas(items: tuple[str, ...]) -> str | None:
    def is_replica(item: str) -> bool:
        partition, colon, broker = item.partition(":")
        return bool(colon) and partition.isdecimal() and broker.isdecimal()

    if items == ("*",) or all(is_replica(item) for item in items):
        return None
    return "must be the literal '*' or a list of replicas like [partitionId]:[brokerId],[partitionId]:[brokerId]"


def same_name(name: str) -> tuple[Synonym, ...]:
    return (Synonym(name),)


_DEFINITIONS: Final = (
    ConfigDef(
        "cleanup.policy",
        LIST,
        "delete",
        "What happens to old segments: 'delete' deletes by age and size, 'compact' keeps the last record of each key;"
        " both may be set, and an empty list keeps everything.",
        CLEANUP_POLICY,
        synonyms=same_name("log.cleanup.policy"),
    ),
    ConfigDef(
        "compression.gzip.level",
        INT,
        "-1",
        "Level for gzip when compression.type is gzip; -1 is the codec's default.",
        gzip_level,
        synonyms=same_name("compression.gzip.level"),
    ),
    ConfigDef(
        "compression.lz4.level",
        INT,
        "9",
        "Level for lz4 when compression.type is lz4.",
        LZ4_LEVEL,
        synonyms=same_name("compression.lz4.level"),
    ),
    ConfigDef(
        "compression.type",
        STRING,
        "producer",
        "How batches are stored: 'producer' keeps them as sent; with 'uncompressed' or the name of a codec the broker"
        " recompresses other batches.",
        COMPRESSION_TYPE,
        synonyms=same_name("compression.type"),
    ),
    ConfigDef(
        "compression.zstd.level",
        INT,
        "3",
        "Level for zstd when compression.type is zstd.",
        ZSTD_LEVEL,
        synonyms=same_name("compression.zstd.level"),
    ),
    ConfigDef(
        "delete.retention.ms",
        LONG,
        "86400000",
        "How long compaction keeps a tombstone, so that consumers reading from the start see the deletion.",
        AtLeast(0),
        synonyms=same_name("log.cleaner.delete.retention.ms"),
    ),
    ConfigDef(
        "file.delete.delay.ms",
        LONG,
        "60000",
        "How long a file is kept after its segment was deleted.",
        AtLeast(0),
        synonyms=same_name("log.segment.delete.delay.ms"),
    ),
    ConfigDef(
        "flush.messages",
        LONG,
        LONG_MAX,
        "After how many records the log is synced to the disk; 1 makes every acknowledgement wait for the sync.",
        AtLeast(1),
        synonyms=same_name("log.flush.interval.messages"),
    ),
    ConfigDef(
        "flush.ms",
        LONG,
        LONG_MAX,
        "How long a record may be unsynced before the log is synced to the disk.",
        AtLeast(0),
        synonyms=(Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    ),
    ConfigDef(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose replication is throttled on the follower's side, as partition:broker pairs or '*'.",
        throttled_replicas,
        effect=ACCEPTED,
    ),
    ConfigDef(
        "index.interval.bytes",
        INT,
        "4096",
        "About how many bytes of the log are between two entries of the offset index.",
        AtLeast(0),
        synonyms=same_name("log.index.interval.bytes"),
    ),
    ConfigDef(
        "leader.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose replication is throttled on the leader's side, as partition:broker pairs or '*'.",
        throttled_replicas,
        effect=ACCEPTED,
    ),
    ConfigDef(
        "local.retention.bytes",
        LONG,
        "-2",
        "With tiered storage, how much stays on the local disk; -2 follows retention.bytes.",
        AtLeast(-2),
        effect=ACCEPTED,
        synonyms=same_name("log.local.retention.bytes"),
    ),
    ConfigDef(
        "local.retention.ms",
        LONG,
        "-2",
        "With tiered storage, how long segments stay on the local disk; -2 follows retention.ms.",
        AtLeast(-2),
        effect=ACCEPTED,
        synonyms=same_name("log.local.retention.ms"),
    ),
    ConfigDef(
        "max.compaction.lag.ms",
        LONG,
        LONG_MAX,
        "After what time a record must be compacted.",
        AtLeast(1),
        synonyms=same_name("log.cleaner.max.compaction.lag.ms"),
    ),
    ConfigDef(
        "max.message.bytes",
        INT,
        "1048588",
        "The largest record batch that is accepted, after compression.",
        AtLeast(0),
        synonyms=same_name("message.max.bytes"),
    ),
    ConfigDef(
        "message.timestamp.after.max.ms",
        LONG,
        "3600000",
        "How far a record's timestamp may be ahead of the broker's clock.",
        AtLeast(0),
        synonyms=same_name("log.message.timestamp.after.max.ms"),
    ),
    ConfigDef(
        "message.timestamp.before.max.ms",
        LONG,
        LONG_MAX,
        "How far a record's timestamp may be behind the broker's clock.",
        AtLeast(0),
        synonyms=same_name("log.message.timestamp.before.max.ms"),
    ),
    ConfigDef(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Who sets the timestamps of records: the producer (CreateTime) or the broker (LogAppendTime).",
        TIMESTAMP_TYPE,
        synonyms=same_name("log.message.timestamp.type"),
    ),
    ConfigDef(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        "0.5",
        "The share of uncompacted bytes above which a log is compacted.",
        Between(0, 1),
        synonyms=same_name("log.cleaner.min.cleanable.ratio"),
    ),
    ConfigDef(
        "min.compaction.lag.ms",
        LONG,
        "0",
        "How long a record is kept from compaction.",
        AtLeast(0),
        synonyms=same_name("log.cleaner.min.compaction.lag.ms"),
    ),
    ConfigDef(
        "min.insync.replicas",
        INT,
        "1",
        "How many in-sync replicas a write with acks=all needs, capped at the number of replicas.",
        AtLeast(1),
        synonyms=same_name("min.insync.replicas"),
    ),
    ConfigDef(
        "preallocate",
        BOOLEAN,
        "false",
        "Whether the file of a new segment is allocated in full at once.",
        effect=ACCEPTED,
        synonyms=same_name("log.preallocate"),
    ),
    ConfigDef(
        "remote.log.copy.disable",
        BOOLEAN,
        "false",
        "With tiered storage, whether no more segments are copied to the remote store.",
        effect=ACCEPTED,
    ),
    ConfigDef(
        "remote.log.delete.on.disable",
        BOOLEAN,
        "false",
        "With tiered storage, whether remote data is deleted when it is disabled for the topic.",
        effect=ACCEPTED,
    ),
    ConfigDef(
        "remote.storage.enable",
        BOOLEAN,
        "false",
        "Whether the topic uses Kafka's tiered storage, which this broker does not have.",
        effect=REFUSED,
    ),
    ConfigDef(
        "retention.bytes",
        LONG,
        "-1",
        "The size of a partition above which its oldest segments are deleted; -1 means no limit.",
        synonyms=same_name("log.retention.bytes"),
    ),
    ConfigDef(
        "retention.ms",
        LONG,
        "604800000",
        "How long records are kept before their segment is deleted; -1 means forever.",
        AtLeast(-1),
        synonyms=(
            Synonym("log.retention.ms"),
            Synonym("log.retention.minutes", MINUTE_MS),
            Synonym("log.retention.hours", HOUR_MS),
        ),
    ),
    ConfigDef(
        "segment.bytes",
        INT,
        "1073741824",
        "The size at which a new segment is begun.",
        SEGMENT_BYTES,
        synonyms=same_name("log.segment.bytes"),
    ),
    ConfigDef(
        "segment.index.bytes",
        INT,
        "10485760",
        "The size of the offset index at which a new segment is begun.",
        AtLeast(4),
        synonyms=same_name("log.index.size.max.bytes"),
    ),
    ConfigDef(
        "segment.jitter.ms",
        LONG,
        "0",
        "The largest random time subtracted from segment.ms, so that segments do not all roll at once.",
        AtLeast(0),
        synonyms=(Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR_MS)),
    ),
    ConfigDef(
        "segment.ms",
        LONG,
        "604800000",
        "The age at which a new segment is begun even if the last one is not full.",
        AtLeast(1),
        synonyms=(Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS)),
    ),
    ConfigDef(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica that may lack records can become leader if there is no other.",
        effect=ACCEPTED,
        synonyms=same_name("unclean.leader.election.enable"),
    ),
    ConfigDef(
        "internal.segment.bytes",
        INT,
        None,
        "Overrides segment.bytes, without its minimum, for tests.",
        AtLeast(1),
        shown_only_if_set=True,
    ),
    ConfigDef(
        "barnabas.archive.enable",
        BOOLEAN,
        "false",
        "Whether the broker keeps the topic's history as Parquet files in its barnabas.archive.dir.",
        shown_only_if_set=True,
    ),
)

TOPIC_CONFIGS: Final = {definition.name: definition for definition in _DEFINITIONS}
