"""Broker configs of transactions and their coordinator."""

from typing import Final

from barnabas.metadata.configs.definition import (
    SEGMENT_BYTES,
    AtLeast,
    ConfigDef,
    ConfigType,
    Importance,
    Update,
)

BOOLEAN, INT, SHORT = ConfigType.BOOLEAN, ConfigType.INT, ConfigType.SHORT
HIGH, LOW = Importance.HIGH, Importance.LOW

DEFINITIONS: Final = (
    ConfigDef(
        "add.partitions.to.txn.retry.backoff.max.ms",
        INT,
        "100",
        "How long a request waits for the transaction before it to be completed.",
        AtLeast(0),
        HIGH,
    ),
    ConfigDef(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        "10000",
        "How often transactions are looked at for their timeout.",
        AtLeast(1),
        LOW,
    ),
    ConfigDef(
        "transaction.max.timeout.ms",
        INT,
        "900000",
        "The longest transaction timeout that a producer may ask for.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "transaction.partition.verification.enable",
        BOOLEAN,
        "true",
        "Whether the broker asks the coordinator for a transaction before it writes the first record of one.",
        importance=LOW,
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        "3600000",
        "How often transactional ids are looked at for expiry.",
        AtLeast(1),
        LOW,
    ),
    ConfigDef(
        "transaction.state.log.min.isr",
        INT,
        "2",
        "The min.insync.replicas of __transaction_state.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "transaction.state.log.num.partitions",
        INT,
        "50",
        "The number of partitions of __transaction_state; it can't change once the topic is there.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "transaction.state.log.replication.factor",
        SHORT,
        "3",
        "The replication factor of __transaction_state, capped at the number of brokers.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "transaction.state.log.segment.bytes",
        INT,
        "104857600",
        "The segment size of __transaction_state, small so that compaction keeps loading short.",
        SEGMENT_BYTES,
        HIGH,
    ),
    ConfigDef(
        "transaction.two.phase.commit.enable",
        BOOLEAN,
        "false",
        "Whether a producer may ask for transactions that only an outer one ends, never the clock.",
        importance=LOW,
    ),
    ConfigDef(
        "transactional.id.expiration.ms",
        INT,
        "604800000",
        "How long a transactional id that nobody uses is remembered.",
        AtLeast(1),
        HIGH,
    ),
)
