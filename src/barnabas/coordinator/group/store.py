"""The state of one partition of __consumer_offsets: what is in the log, and what is in memory only.

Durable, changed only by `replay`: `stored_groups`, `modern`, `offsets` and `pending_offsets`. In memory only, changed
by decisions: `groups` with their members' parked requests, and `timers`. The in-memory state of a classic group is
ahead of its stored one (see `classic_group`), so replaying its metadata does not change it; a tombstone removes it, and
an offset committed to an unknown group creates one without members. Modern groups (consumer groups of KIP-848, share
groups) have only durable state.

A group id is in `groups` or in `modern`, never in both: the last record in the log decides.
"""

import base64
import random
import uuid
from collections.abc import Hashable
from typing import Any

from barnabas.coordinator.decision import Decision
from barnabas.coordinator.group.classic_group import ClassicGroup
from barnabas.coordinator.group.group_configs import GroupConfigs
from barnabas.coordinator.group.member import Member, session_key
from barnabas.coordinator.group.modern.group import ModernGroup
from barnabas.coordinator.group.modern.topics import TopicCatalog
from barnabas.coordinator.group.pending_offsets import PendingOffsets
from barnabas.coordinator.group.settings import GroupSettings
from barnabas.coordinator.group.states import DEAD
from barnabas.coordinator.group.stored import (
    NO_TIMESTAMP,
    TEXT_BYTES_MAX,
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
    StoredGroup,
    TopicOffsets,
)
from barnabas.coordinator.timers import Timers
from barnabas.metadata.image import EMPTY_IMAGE
from barnabas.wire.errors import KafkaError, UnknownMemberId

# A member id begins with the client id, and must fit into a stored record even with multi-byte characters.
PREFIX_CHARACTERS_MAX = TEXT_BYTES_MAX // 4 - 40

OffsetsByTopic = dict[str, dict[int, CommittedOffset]]


class GroupStore:
    def __init__(
        self,
        settings: GroupSettings,
        randomness: random.Random,
        catalog: TopicCatalog | None = None,
        configs: GroupConfigs | None = None,
    ) -> None:
        self.settings = settings
        self.configs = GroupConfigs(settings) if configs is None else configs
        self.catalog = TopicCatalog(lambda: EMPTY_IMAGE) if catalog is None else catalog
        self._random = randomness
        self.stored_groups: dict[str, StoredGroup] = {}
        self.offsets: dict[str, OffsetsByTopic] = {}
        self.pending_offsets = PendingOffsets()
        self.groups: dict[str, ClassicGroup] = {}
        self.modern: dict[str, ModernGroup[Any]] = {}
        self.timers = Timers()
        self.jobs: set[Hashable] = set()
        """In memory only, changed by the shell: the keys of running jobs."""

    # --- durable

    def replay_group(self, record: GroupRecord) -> None:
        if record.value is None:
            self.stored_groups.pop(record.group_id, None)
            self._end(record.group_id)
            return
        self.modern.pop(record.group_id, None)
        self.stored_groups[record.group_id] = record.value
        group = self.groups.get(record.group_id)
        if record.value.members and (group is None or not group.members):
            # It was a consumer group until now, so there is no in-memory state.
            self.groups[record.group_id] = ClassicGroup.from_stored(record.group_id, record.value)

    def put_modern(self, group: ModernGroup[Any]) -> None:
        """The group is a modern one from now on. A classic one of the same id is removed."""
        self.stored_groups.pop(group.group_id, None)
        self._end(group.group_id)
        self.modern[group.group_id] = group

    def remove_modern(self, group_id: str) -> None:
        is_needed = group_id in self.offsets or group_id in self.pending_offsets
        if self.modern.pop(group_id, None) is not None and is_needed:
            self.groups.setdefault(group_id, ClassicGroup(group_id, NO_TIMESTAMP))

    def replay_offsets(self, record: TopicOffsets) -> None:
        group_id, topic, offsets = record
        if self.pending_offsets:
            for partition in offsets:
                self.pending_offsets.supersede(group_id, topic, partition)
        self.offsets.setdefault(group_id, {}).setdefault(topic, {}).update(offsets)
        self._ensure_group(group_id)

    def replay_offset(self, record: OffsetRecord) -> None:
        if self.pending_offsets:
            place = record[:3]
            if record.value is None:
                self.pending_offsets.forget(*place)
            else:
                self.pending_offsets.supersede(*place)
        self._put_offset(record)

    def replay_pending_offset(self, producer_id: int, record: OffsetRecord) -> None:
        if record.value is None:  # offsets are never deleted in a transaction
            return
        self.pending_offsets.put(producer_id, record)
        self._ensure_group(record.group_id)

    def replay_transaction_end(self, producer_id: int, *, commit: bool) -> None:
        for record in self.pending_offsets.end(producer_id, commit=commit):
            self._put_offset(record)

    def _ensure_group(self, group_id: str) -> None:
        if group_id not in self.groups and group_id not in self.modern:
            self.groups[group_id] = ClassicGroup(group_id, NO_TIMESTAMP)

    def _put_offset(self, record: OffsetRecord) -> None:
        if record.value is not None:
            by_topic = self.offsets.setdefault(record.group_id, {})
            by_topic.setdefault(record.topic, {})[record.partition] = record.value
            self._ensure_group(record.group_id)
            return
        by_topic = self.offsets.get(record.group_id, {})
        partitions = by_topic.get(record.topic, {})
        partitions.pop(record.partition, None)
        if not partitions:
            by_topic.pop(record.topic, None)
        if not by_topic:
            self.offsets.pop(record.group_id, None)

    # --- in memory only

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix[:PREFIX_CHARACTERS_MAX]}-{uuid.UUID(int=self._random.getrandbits(128), version=4)}"

    def new_modern_member_id(self) -> str:
        """Like Kafka's: a random UUID in 22 characters."""
        return base64.urlsafe_b64encode(self._random.randbytes(16)).decode().rstrip("=")

    def keep_session(self, member: Member, monotonic_ms: int) -> None:
        self.timers.set(member.session_key, monotonic_ms + member.session_timeout_ms)

    def remove_member(self, group: ClassicGroup, member_id: str, decision: Decision[Any]) -> None:
        """Remove a member or a pending id, and answer its parked requests. It may join again."""
        self.timers.cancel(session_key(group.group_id, member_id))
        member = group.remove(member_id)
        if member is not None:
            gone = UnknownMemberId(f"{member_id} is no longer a member of group {group.group_id}")
            self.dismiss(member, gone, decision)

    def dismiss(self, member: Member, error: KafkaError, decision: Decision[Any]) -> None:
        decision.release(member.awaiting_join, error)
        decision.release(member.awaiting_sync, error)

    def discard(self, group: ClassicGroup, error: KafkaError, now_ms: int, decision: Decision[Any]) -> None:
        """Remove the group, and answer its parked requests."""
        self.groups.pop(group.group_id, None)
        self.timers.cancel(group.join_key)
        self.timers.cancel(group.sync_key)
        for pending_id in group.pending_joins:
            self.timers.cancel(session_key(group.group_id, pending_id))
        for member in group.members.values():
            self.timers.cancel(member.session_key)
            self.dismiss(member, error, decision)
        group.transition_to(DEAD, now_ms)

    def _end(self, group_id: str) -> None:
        """Only empty groups are deleted, so there are no parked requests. Pending member ids become unknown."""
        group = self.groups.get(group_id)
        if group is not None:
            self.discard(
                group, UnknownMemberId(f"group {group_id} was deleted"), group.state_timestamp_ms, Decision(None)
            )
