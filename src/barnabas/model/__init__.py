"""Nouns every room shares. Imports nothing of ours."""

from barnabas.model.nouns import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_EPOCH,
    NO_OFFSET,
    NO_TIMESTAMP,
    Epoch,
    NodeId,
    Offset,
    ProducerId,
    TopicId,
    TopicPartition,
)

__all__ = [
    "INTERNAL_TOPICS",
    "METADATA_TOPIC",
    "METADATA_TOPIC_ID",
    "NO_EPOCH",
    "NO_OFFSET",
    "NO_TIMESTAMP",
    "Epoch",
    "NodeId",
    "Offset",
    "ProducerId",
    "TopicId",
    "TopicPartition",
]
