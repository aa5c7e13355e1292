"""Types that all rooms share, and parsers of texts that several rooms read. Imports nothing else of Barnabas."""

from barnabas.model.nouns import (
    INTERNAL_TOPICS,
    METADATA_PARTITION,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_EPOCH,
    NO_OFFSET,
    NO_TIMESTAMP,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
    Epoch,
    NodeId,
    Offset,
    ProducerId,
    TopicId,
    TopicPartition,
)

__all__ = [
    "INTERNAL_TOPICS",
    "METADATA_PARTITION",
    "METADATA_TOPIC",
    "METADATA_TOPIC_ID",
    "NO_EPOCH",
    "NO_OFFSET",
    "NO_TIMESTAMP",
    "OFFSETS_TOPIC",
    "SHARE_STATE_TOPIC",
    "TRANSACTIONS_TOPIC",
    "Epoch",
    "NodeId",
    "Offset",
    "ProducerId",
    "TopicId",
    "TopicPartition",
]
