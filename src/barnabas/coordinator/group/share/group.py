"""A share group in memory, its members, and the partitions with an initialised state. Only replay changes it.

Several members may have the same partition. So nothing has to be revoked or waited for, and a member gets its target
with its next heartbeat.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from barnabas.coordinator.group.member import ClientInfo
from barnabas.coordinator.group.modern.group import ModernGroup
from barnabas.coordinator.group.modern.partitions import NO_PARTITIONS, Partitions, from_stored, to_stored
from barnabas.coordinator.group.share.stored import (
    StoredShareAssignment,
    StoredShareMember,
    StoredStateTopic,
    StoredStateTopics,
    StoredTopicName,
)

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
_UNKNOWN_CLIENT: Final = ClientInfo("", "")
_STABLE: Final = 0
"""The only member state that is stored for share groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember:
    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    """Accepted too: the answer with the current epoch may have been lost."""
    rack_id: str | None = None
    client: ClientInfo = _UNKNOWN_CLIENT
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: Partitions = field(default_factory=dict)

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.member_epoch == target_epoch

    def stored_metadata(self) -> StoredShareMember:
        return StoredShareMember(
            rack_id=self.rack_id,
            client_id=self.client.client_id,
            client_host=self.client.client_host,
            subscribed_topic_names=tuple(sorted(self.subscribed_topic_names)),
        )

    def with_metadata(self, stored: StoredShareMember) -> "ShareMember":
        return replace(
            self,
            rack_id=stored.rack_id,
            client=ClientInfo(stored.client_id, stored.client_host),
            subscribed_topic_names=frozenset(stored.subscribed_topic_names),
        )

    def stored_assignment(self) -> StoredShareAssignment:
        return StoredShareAssignment(
            member_epoch=self.member_epoch,
            previous_member_epoch=self.previous_member_epoch,
            state=_STABLE,
            assigned_partitions=to_stored(self.assigned),
        )

    def with_assignment(self, stored: StoredShareAssignment | None) -> "ShareMember":
        if stored is None:
            return replace(self, member_epoch=LEAVE_EPOCH, previous_member_epoch=LEAVE_EPOCH, assigned=NO_PARTITIONS)
        return replace(
            self,
            member_epoch=stored.member_epoch,
            previous_member_epoch=stored.previous_member_epoch,
            assigned=from_stored(stored.assigned_partitions),
        )


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
        from barnabas.coordinator.group.share.records import group_removal

        return group_removal(self)
