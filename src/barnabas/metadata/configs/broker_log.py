"""Broker configs of the log: defaults of topic configs, log directories, compaction, checkpoints."""

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
    Importance,
    Update,
    Validator,
    gzip_level,
    unlimited_or_positive,
)

BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
LONG, DOUBLE, LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def _topic_default(
    name: str,
    kind: ConfigType,
    default: str | None,
    topic_config: str,
    validator: Validator | None,
    importance: Importance,
) -> ConfigDef:
    text = f"The default of the topic config {topic_config}."
    return ConfigDef(name, kind, default, text, validator, importance, update=Update.CLUSTER_WIDE)


_TOPIC_DEFAULTS: Final = (
    _topic_default("compression.gzip.level", INT, "-1", "compression.gzip.level", gzip_level, MEDIUM),
    _topic_default("compression.lz4.level", INT, "9", "compression.lz4.level", LZ4_LEVEL, MEDIUM),
    _topic_default("compression.type", STRING, "producer", "compression.type", COMPRESSION_TYPE, HIGH),
    _topic_default("compression.zstd.level", INT, "3", "compression.zstd.level", ZSTD_LEVEL, MEDIUM),
    _topic_default("log.cleaner.delete.retention.ms", LONG, "86400000", "delete.retention.ms", AtLeast(0), MEDIUM),
    _topic_default("log.cleaner.max.compaction.lag.ms", LONG, LONG_MAX, "max.compaction.lag.ms", AtLeast(1), MEDIUM),
    _topic_default(
        "log.cleaner.min.cleanable.ratio", DOUBLE, "0.5", "min.cleanable.dirty.ratio", Between(0, 1), MEDIUM
    ),
    _topic_default("log.cleaner.min.compaction.lag.ms", LONG, "0", "min.compaction.lag.ms", AtLeast(0), MEDIUM),
    _topic_default("log.cleanup.policy", LIST, "delete", "cleanup.policy", CLEANUP_POLICY, MEDIUM),
    _topic_default("log.flush.interval.messages", LONG, LONG_MAX, "flush.messages", AtLeast(1), HIGH),
    _topic_default("log.flush.interval.ms", LONG, None, "flush.ms", AtLeast(0), HIGH),
    _topic_default("log.index.interval.bytes", INT, "4096", "index.interval.bytes", AtLeast(0), MEDIUM),
    _topic_default("log.index.size.max.bytes", INT, "10485760", "segment.index.bytes", AtLeast(4), MEDIUM),
    _topic_default(
        "log.message.timestamp.after.max.ms", LONG, "3600000", "message.timestamp.after.max.ms", AtLeast(0), MEDIUM
    ),
    _topic_default(
        "log.message.timestamp.before.max.ms", LONG, LONG_MAX, "message.timestamp.before.max.ms", AtLeast(0), MEDIUM
    ),
    _topic_default(
        "log.message.timestamp.type", STRING, "CreateTime", "message.timestamp.type", TIMESTAMP_TYPE, MEDIUM
    ),
    _topic_default("log.retention.bytes", LONG, "-1", "retention.bytes", None, HIGH),
    _topic_default("log.retention.ms", LONG, None, "retention.ms", unlimited_or_positive, HIGH),
    _topic_default("log.roll.jitter.ms", LONG, None, "segment.jitter.ms", AtLeast(0), HIGH),
    _topic_default("log.roll.ms", LONG, None, "segment.ms", AtLeast(1), HIGH),
    _topic_default("log.segment.bytes", INT, "1073741824", "segment.bytes", SEGMENT_BYTES, HIGH),
    _topic_default("log.segment.delete.delay.ms", LONG, "60000", "file.delete.delay.ms", AtLeast(0), HIGH),
    _topic_default("message.max.bytes", INT, "1048588", "max.message.bytes", AtLeast(0), HIGH),
    _topic_default("min.insync.replicas", INT, "1", "min.insync.replicas", AtLeast(1), HIGH),
)

_STORAGE: Final = (
    ConfigDef(
        "log.cleaner.backoff.ms",
        LONG,
        "15000",
        "How long the log cleaner waits when there is nothing to compact.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "log.cleaner.dedupe.buffer.size",
        LONG,
        "134217728",
        "The memory that one compaction may use for its map of keys.",
        AtLeast(1024 * 1024),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef("log.cleaner.enable", BOOLEAN, "true", "Whether topics with cleanup.policy=compact are compacted."),
    ConfigDef("log.dir", LIST, "barnabas-data", "The log directory when log.dirs is not set.", importance=HIGH),
    ConfigDef(
        "log.dirs",
        LIST,
        None,
        "The directories that hold the partitions; a failed one takes only its own partitions offline.",
        importance=HIGH,
    ),
    ConfigDef(
        "log.flush.offset.checkpoint.interval.ms",
        INT,
        "60000",
        "How often the recovery points are checkpointed.",
        AtLeast(0),
        HIGH,
    ),
    ConfigDef(
        "log.flush.scheduler.interval.ms",
        LONG,
        LONG_MAX,
        "How often logs are checked for a sync; also the default of log.flush.interval.ms.",
        AtLeast(0),
        HIGH,
    ),
    ConfigDef(
        "log.flush.start.offset.checkpoint.interval.ms",
        INT,
        "60000",
        "How often the log start offsets are checkpointed.",
        AtLeast(0),
        HIGH,
        effect=Effect.ACCEPTED,
    ),
    ConfigDef(
        "log.cleaner.io.max.bytes.per.second",
        DOUBLE,
        "1.7976931348623157E308",
        "How fast a compaction may read and write.",
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "log.initial.task.delay.ms",
        LONG,
        "30000",
        "The delay of the first retention check after the start.",
        AtLeast(0),
        LOW,
        shown_only_if_set=True,
    ),
    ConfigDef(
        "log.retention.check.interval.ms",
        LONG,
        "300000",
        "How often logs are checked for segments to delete.",
        AtLeast(1),
    ),
    ConfigDef(
        "log.retention.hours",
        INT,
        "168",
        "The default of the topic config retention.ms, in hours; log.retention.minutes and .ms take precedence.",
        unlimited_or_positive,
        HIGH,
    ),
    ConfigDef(
        "log.retention.minutes",
        INT,
        None,
        "The default of the topic config retention.ms, in minutes; log.retention.ms takes precedence.",
        unlimited_or_positive,
        HIGH,
    ),
    ConfigDef(
        "log.roll.hours",
        INT,
        "168",
        "The default of the topic config segment.ms, in hours; log.roll.ms takes precedence.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "log.roll.jitter.hours",
        INT,
        "0",
        "The default of the topic config segment.jitter.ms, in hours; log.roll.jitter.ms takes precedence.",
        AtLeast(0),
        HIGH,
    ),
    ConfigDef(
        "producer.id.expiration.check.interval.ms",
        INT,
        "600000",
        "How often producer ids are checked for expiry.",
        AtLeast(1),
        LOW,
        shown_only_if_set=True,
    ),
    ConfigDef(
        "producer.id.expiration.ms",
        INT,
        "86400000",
        "How long a partition keeps the sequence numbers of an idle producer.",
        AtLeast(1),
        LOW,
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG,
        LONG_MAX,
        "How fast a partition is copied to another log directory.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
        shown_only_if_set=True,
    ),
    ConfigDef(
        "replica.high.watermark.checkpoint.interval.ms",
        LONG,
        "5000",
        "How often the high watermarks are checkpointed.",
        AtLeast(1),
        HIGH,
        effect=Effect.ACCEPTED,
    ),
)

DEFINITIONS: Final = _TOPIC_DEFAULTS + _STORAGE
