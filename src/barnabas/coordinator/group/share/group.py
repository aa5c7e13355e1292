"""A share group in memory, and the partitions with an initialised state. Only replay changes it.

Several members may have the same partition. So nothing has to be revoked or waited for, and a member gets its target
with its next heartbeat.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.coordinator.group.common.modern_group import ModernGroup
from barnabas.coordinator.group.common.partitions import Partitions
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.share.records import group_removal
from barnabas.coordinator.group.share.stored import StoredStateTopic, StoredStateTopics, StoredTopicName


@dataclass(frozen=True, slots=True)
class StateTopics:
    """Which partitions the share coordinator has a state of. Immutable."""

    initializing: Partitions = field(default_factory=dict)
    """Requested, not confirmed yet."""
    initialized: Partitions = field(default_factory=dict)
    """Only these are assigned to members."""
    deleting: frozenset[uuid.UUID] = frozenset()

    def stored(self, names: dict[uuid.UUID, str]) -> StoredStateTopics:
        return StoredStateTopics(
            initializing_topics=_to_stored(self.initializing, names),
            initialized_topics=_to_stored(self.initialized, names),
            deleting_topics=tuple(
                StoredTopicName(topic_id=topic_id, topic_name=names.get(topic_id, _UNKNOWN_NAME))
                for topic_id in sorted(self.deleting)
            ),
        )

    @staticmethod
    def from_stored(stored: StoredStateTopics) -> "StateTopics":
        return StateTopics(
            _from_stored(stored.initializing_topics),
            _from_stored(stored.initialized_topics),
            frozenset(topic.topic_id for topic in stored.deleting_topics if topic.topic_id is not None),
        )


_UNKNOWN_NAME: Final = "<UNKNOWN>"
"""The name that Kafka writes for a deleted topic."""


def _to_stored(partitions: Partitions, names: dict[uuid.UUID, str]) -> tuple[StoredStateTopic, ...]:
    return tuple(
        StoredStateTopic(
            topic_id=topic_id, topic_name=names.get(topic_id, _UNKNOWN_NAME), partitions=tuple(sorted(indexes))
        )
        for topic_id, indexes in partitions.items()
    )


def _from_stored(topics: Iterable[StoredStateTopic]) -> Partitions:
    return {
        topic.topic_id: frozenset(topic.partitions)
        for topic in topics
        if topic.topic_id is not None and topic.partitions
    }


class ShareGroup(ModernGroup[ShareMember]):
    kind = "share"
    protocol_type = "share"

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.state_topics = StateTopics()
        self.initializing_since_ms: dict[uuid.UUID, int] = {}
        """In memory only: when a topic's states were requested. Empty after a restart, so they are requested again."""

    @property
    def state_name(self) -> str:
        return "Stable" if self.members else "Empty"

    def removal_records(self) -> list[Any]:
        return list(group_removal(self))
