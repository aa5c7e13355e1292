"""The 33 topic configs of Kafka 4.3, and two that are shown only where they are set.

One is internal in Kafka, too, for small segments in tests. The other is our own: the name says so.
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
        "What becomes of old segments: 'delete' drops them by age and size, 'compact' keeps each key's last record;"
        " both may be given, and an empty list keeps everything.",
        CLEANUP_POLICY,
        synonyms=same_name("log.cleanup.policy"),
    ),
    ConfigDef(
        "compression.gzip.level",
        INT,
        "-1",
        "Level for gzip when compression.type is gzip; -1 is the codec's own default.",
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
        "How batches are stored: 'producer' keeps what the producer sent, 'uncompressed' or a codec's name makes the"
        " broker recompress what differs.",
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
        "How long a tombstone survives compaction, so that a reader who began at the start still sees the deletion.",
        AtLeast(0),
        synonyms=same_name("log.cleaner.delete.retention.ms"),
    ),
    ConfigDef(
        "file.delete.delay.ms",
        LONG,
        "60000",
        "How long a file that left the log waits before it is removed from the file system.",
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
        "How long a record may stay unsynced before the log is synced to the disk.",
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
        "About how many bytes of log lie between two entries of the offset index.",
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
        "The longest a record may wait before compaction must look at it.",
        AtLeast(1),
        synonyms=same_name("log.cleaner.max.compaction.lag.ms"),
    ),
    ConfigDef(
        "max.message.bytes",
        INT,
        "1048588",
        "The largest record batch accepted, measured as sent (compressed if it is).",
        AtLeast(0),
        synonyms=same_name("message.max.bytes"),
    ),
    ConfigDef(
        "message.timestamp.after.max.ms",
        LONG,
        "3600000",
        "How far a record's timestamp may lie ahead of the broker's clock.",
        AtLeast(0),
        synonyms=same_name("log.message.timestamp.after.max.ms"),
    ),
    ConfigDef(
        "message.timestamp.before.max.ms",
        LONG,
        LONG_MAX,
        "How far a record's timestamp may lie behind the broker's clock.",
        AtLeast(0),
        synonyms=same_name("log.message.timestamp.before.max.ms"),
    ),
    ConfigDef(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Whose clock stamps the records: the producer's (CreateTime) or the broker's (LogAppendTime).",
        TIMESTAMP_TYPE,
        synonyms=same_name("log.message.timestamp.type"),
    ),
    ConfigDef(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        "0.5",
        "The share of uncompacted bytes from which on compaction finds a log worth its while.",
        Between(0, 1),
        synonyms=same_name("log.cleaner.min.cleanable.ratio"),
    ),
    ConfigDef(
        "min.compaction.lag.ms",
        LONG,
        "0",
        "How long a record is safe from compaction.",
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
        "Whether a new segment's file is given its full size at once.",
        effect=ACCEPTED,
        synonyms=same_name("log.preallocate"),
    ),
    ConfigDef(
        "remote.log.copy.disable",
        BOOLEAN,
        "false",
        "With tiered storage, whether no more segments go to the remote store.",
        effect=ACCEPTED,
    ),
    ConfigDef(
        "remote.log.delete.on.disable",
        BOOLEAN,
        "false",
        "With tiered storage, whether remote data goes when it is switched off for the topic.",
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
        "The size a partition may grow to before its oldest segments go; -1 sets no bound.",
        synonyms=same_name("log.retention.bytes"),
    ),
    ConfigDef(
        "retention.ms",
        LONG,
        "604800000",
        "How long records are kept before their segment may go; -1 keeps them for ever.",
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
        "The size at which a segment is closed and a new one begun.",
        SEGMENT_BYTES,
        synonyms=same_name("log.segment.bytes"),
    ),
    ConfigDef(
        "segment.index.bytes",
        INT,
        "10485760",
        "The most an offset index may grow to before its segment is closed.",
        AtLeast(4),
        synonyms=same_name("log.index.size.max.bytes"),
    ),
    ConfigDef(
        "segment.jitter.ms",
        LONG,
        "0",
        "The most that chance takes off segment.ms, so that segments do not all roll at once.",
        AtLeast(0),
        synonyms=(Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR_MS)),
    ),
    ConfigDef(
        "segment.ms",
        LONG,
        "604800000",
        "The age at which a segment is closed even if it is not full.",
        AtLeast(1),
        synonyms=(Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS)),
    ),
    ConfigDef(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica that may lack records can become leader when no other is left.",
        effect=ACCEPTED,
        synonyms=same_name("unclean.leader.election.enable"),
    ),
    ConfigDef(
        "internal.segment.bytes",
        INT,
        None,
        "Overrides segment.bytes without its lower bound, for tests.",
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
