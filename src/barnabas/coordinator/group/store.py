"""The state of one partition of __consumer_offsets: what the log says, and beside it what only memory knows.

Durable, changed by `replay` and nothing else: `stored_groups`, `modern` and `offsets`. Replaying the log gives them
back. Soft, changed by decisions: `groups` with their members' parked requests, `timers`. A classic group's soft state
runs ahead of its stored one (see `classic_group`), so replaying its own metadata does not touch it; a tombstone ends
it, and an offset committed to an unknown group brings a memberless one into being. Modern groups (consumer groups of
KIP-848, share groups) have no such second state.

A group id is in `groups` or in `modern`, never in both: whichever kind the log named last.
"""

import random
import uuid
from typing import Any

from barnabas.coordinator.decision import Decision
from barnabas.coordinator.group.classic_group import ClassicGroup
from barnabas.coordinator.group.member import Member, session_key
from barnabas.coordinator.group.modern.group import ModernGroup
from barnabas.coordinator.group.modern.topics import TopicCatalog
from barnabas.coordinator.group.settings import GroupSettings
from barnabas.coordinator.group.states import DEAD
from barnabas.coordinator.group.stored import (
    NO_TIMESTAMP,
    TEXT_BYTES_MAX,
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
    StoredGroup,
)
from barnabas.coordinator.timers import Timers
from barnabas.metadata.image import EMPTY_IMAGE
from barnabas.wire.errors import KafkaError, UnknownMemberId

# A member's id begins with its client's, and must fit into a stored record whatever the characters.
PREFIX_CHARACTERS_MAX = TEXT_BYTES_MAX // 4 - 40

OffsetsByTopic = dict[str, dict[int, CommittedOffset]]


class GroupStore:
    def __init__(self, settings: GroupSettings, randomness: random.Random, catalog: TopicCatalog | None = None) -> None:
        self.settings = settings
        self.catalog = TopicCatalog(lambda: EMPTY_IMAGE) if catalog is None else catalog
        self._random = randomness
        self.stored_groups: dict[str, StoredGroup] = {}
        self.offsets: dict[str, OffsetsByTopic] = {}
        self.groups: dict[str, ClassicGroup] = {}
        self.modern: dict[str, ModernGroup[Any]] = {}
        self.timers = Timers()

    # Durable

    def replay_group(self, record: GroupRecord) -> None:
        if record.value is None:
            self.stored_groups.pop(record.group_id, None)
            self._end(record.group_id)
            return
        self.modern.pop(record.group_id, None)
        self.stored_groups[record.group_id] = record.value
        group = self.groups.get(record.group_id)
        if record.value.members and (group is None or not group.members):
            # It was a consumer group until now: there is no soft state that could run ahead.
            self.groups[record.group_id] = ClassicGroup.from_stored(record.group_id, record.value)

    def put_modern(self, group: ModernGroup[Any]) -> None:
        """The log names a modern group: what was there under its id, perhaps only for its offsets, is no more."""
        self.stored_groups.pop(group.group_id, None)
        self._end(group.group_id)
        self.modern[group.group_id] = group

    def remove_modern(self, group_id: str) -> None:
        if self.modern.pop(group_id, None) is not None and group_id in self.offsets:
            self.groups.setdefault(group_id, ClassicGroup(group_id, NO_TIMESTAMP))

    def replay_offset(self, record: OffsetRecord) -> None:
        if record.value is not None:
            by_topic = self.offsets.setdefault(record.group_id, {})
            by_topic.setdefault(record.topic, {})[record.partition] = record.value
            if record.group_id not in self.groups and record.group_id not in self.modern:
                self.groups[record.group_id] = ClassicGroup(record.group_id, NO_TIMESTAMP)
            return
        by_topic = self.offsets.get(record.group_id, {})
        partitions = by_topic.get(record.topic, {})
        partitions.pop(record.partition, None)
        if not partitions:
            by_topic.pop(record.topic, None)
        if not by_topic:
            self.offsets.pop(record.group_id, None)

    # Soft

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix[:PREFIX_CHARACTERS_MAX]}-{uuid.UUID(int=self._random.getrandbits(128), version=4)}"

    def keep_session(self, member: Member, monotonic_ms: int) -> None:
        self.timers.set(member.session_key, monotonic_ms + member.session_timeout_ms)

    def remove_member(self, group: ClassicGroup, member_id: str, decision: Decision[Any]) -> None:
        """Out of the group, whether member or pending. What it waits for is answered: it may join anew."""
        self.timers.cancel(session_key(group.group_id, member_id))
        member = group.remove(member_id)
        if member is not None:
            gone = UnknownMemberId(f"{member_id} is no longer a member of group {group.group_id}")
            self.dismiss(member, gone, decision)

    def dismiss(self, member: Member, error: KafkaError, decision: Decision[Any]) -> None:
        decision.release(member.awaiting_join, error)
        decision.release(member.awaiting_sync, error)

    def discard(self, group: ClassicGroup, error: KafkaError, now_ms: int, decision: Decision[Any]) -> None:
        """Forget the group and all who wait in it."""
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
        """Only empty groups are deleted, so nobody waits in it; ids that were handed out become unknown."""
        group = self.groups.get(group_id)
        if group is not None:
            self.discard(
                group, UnknownMemberId(f"group {group_id} was deleted"), group.state_timestamp_ms, Decision(None)
            )
