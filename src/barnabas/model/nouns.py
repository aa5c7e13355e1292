"""Types for offsets, epochs and ids, the names of internal topics, and TopicPartition."""

import uuid
from typing import Final, NamedTuple, NewType

Offset = NewType("Offset", int)
Epoch = NewType("Epoch", int)
NodeId = NewType("NodeId", int)
ProducerId = NewType("ProducerId", int)
TopicId = uuid.UUID

NO_OFFSET: Final = Offset(-1)
NO_EPOCH: Final = Epoch(-1)
NO_TIMESTAMP: Final = -1

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = uuid.UUID(int=1)
"""Kafka reserves the id 1 for the metadata log."""

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})
"""Topics of the broker itself: clients may read them, but not write to, create or delete them."""


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        """The name of its directory on disk."""
        return f"{self.topic}-{self.partition}"


METADATA_PARTITION: Final = TopicPartition(METADATA_TOPIC, 0)
