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
        "How long a request waits until the previous transaction is complete.",
        AtLeast(0),
        HIGH,
    ),
    ConfigDef(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        "10000",
        "How often transactions are checked for timeouts.",
        AtLeast(1),
        LOW,
    ),
    ConfigDef(
        "transaction.max.timeout.ms",
        INT,
        "900000",
        "The longest transaction timeout of a producer.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "transaction.partition.verification.enable",
        BOOLEAN,
        "true",
        "Whether the coordinator verifies a transaction before its first record is written to a partition.",
        importance=LOW,
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        "3600000",
        "How often transactional ids are checked for expiry.",
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
        "The number of partitions of __transaction_state; it cannot be changed once the topic exists.",
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
        "The segment size of __transaction_state, small so that the coordinator loads quickly.",
        SEGMENT_BYTES,
        HIGH,
    ),
    ConfigDef(
        "transaction.two.phase.commit.enable",
        BOOLEAN,
        "false",
        "Whether producers may use two-phase commit: transactions that never time out (KIP-939).",
        importance=LOW,
    ),
    ConfigDef(
        "transactional.id.expiration.ms",
        INT,
        "604800000",
        "After what time an unused transactional id expires.",
        AtLeast(1),
        HIGH,
    ),
)
