"""A classic group in memory: its members, the protocols they support, and their parked requests.

All of this is in memory only. It is ahead of the log (a generation begins when all members have joined, and is stored
when the leader has sent its assignment) and is rebuilt from a `StoredGroup` when the coordinator loads. What a lost
coordinator takes with it (parked requests, members that had joined and not synced) is repeated by the clients.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from barnabas.coordinator.core.decision import Parked
from barnabas.coordinator.group.classic import records
from barnabas.coordinator.group.classic.member import Member, Protocols
from barnabas.coordinator.group.classic.states import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    TRANSITIONS,
    GroupState,
)
from barnabas.coordinator.group.classic.stored import StoredGroup
from barnabas.coordinator.group.classic.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from barnabas.coordinator.group.common.record_format import StateRecord
from barnabas.coordinator.group.offsets.stored import NO_TIMESTAMP
from barnabas.wire.errors import CorruptMessage, FencedInstanceId, UnknownMemberId
from barnabas.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember

logger = logging.getLogger(__name__)

JOIN = "join"
SYNC = "sync"


class InitialDelay:
    """The wait for more members before the first rebalance, extended while new ones join and time remains."""

    __slots__ = ("delay_ms", "remaining_ms")

    def __init__(self, delay_ms: int, remaining_ms: int) -> None:
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms


class ClassicGroup:
    kind: Final = "classic"
    """The type of the group, as in ListGroups."""

    def __init__(self, group_id: str, now_ms: int) -> None:
        self.group_id = group_id
        self.join_key = (JOIN, group_id)
        self.sync_key = (SYNC, group_id)

        self.state = EMPTY
        self.previous_state: GroupState | None = None
        self.state_timestamp_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader_id: str | None = None

        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by group instance id; every value is a key of `members`."""
        self.pending_joins: set[str] = set()
        """Member ids that were assigned and have not joined with it yet; disjoint from `members`."""
        self.pending_syncs: set[str] = set()
        """Members of this generation that have not sent SyncGroup; a subset of `members`."""
        self.joined_count = 0
        """Members whose JoinGroup is parked: 0 <= joined_count <= len(members)."""
        self.initial_delay: InitialDelay | None = None
        self.new_member_added = False

        self.topics: frozenset[str] | None = None
        """The topics that the group subscribes to; None if that cannot be known."""
        self._protocol_counts: dict[str, int] = {}

    @classmethod
    def from_stored(cls, group_id: str, stored: StoredGroup) -> "ClassicGroup":
        group = cls(group_id, stored.current_state_timestamp)
        group.generation = stored.generation
        group.protocol_type = stored.protocol_type or None
        group.protocol = stored.protocol
        group.leader_id = stored.leader
        for member in stored.members:
            group.add(Member.from_stored(group_id, member, stored.protocol or ""))
        if group.members:
            group.state = STABLE
        group.topics = group._subscribed_topics()
        return group

    # --- queries

    @property
    def state_name(self) -> str:
        """The state that administrators see."""
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is EMPTY

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def all_joined(self) -> bool:
        return self.joined_count == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def can_rebalance(self) -> bool:
        return PREPARING_REBALANCE in TRANSITIONS[self.state]

    def is_subscribed_to(self, topic: str) -> bool:
        """If the subscriptions are not known, a consumer group may be subscribed to any topic."""
        return self.is_consumer_group if self.topics is None else topic in self.topics

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        if self.state is EMPTY:
            return bool(protocol_type) and bool(protocols)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._protocol_counts.get(name, 0) == size for name in protocols
        )

    def validated(self, member_id: str, group_instance_id: str | None) -> Member:
        if group_instance_id is not None:
            current_id = self.static_members.get(group_instance_id)
            if current_id is None:
                raise UnknownMemberId(f"group {self.group_id} has no static member {group_instance_id}")
            if current_id != member_id:
                raise FencedInstanceId(
                    f"another member has joined as {group_instance_id}; use another group.instance.id"
                )
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"group {self.group_id} has no member {member_id}")
        return member

    def preferred_protocol(self) -> str:
        """The protocol that all members support and most vote for; in a tie, the one an earlier member prefers."""
        size = len(self.members)
        candidates = {name for name, supporters in self._protocol_counts.items() if supporters == size}
        votes: dict[str, int] = {}
        for member in self.members.values():
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        return max(votes, key=votes.__getitem__)

    # --- changes

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        assert state in TRANSITIONS[self.state], f"{self.group_id}: {self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    def add(self, member: Member, parked: Parked[JoinGroupResponse] | None = None) -> None:
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member.protocols, 1)
        if parked is not None:
            member.awaiting_join = parked
            self.joined_count += 1
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> Member | None:
        """Returns the member. The caller answers its parked requests."""
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member.protocols, -1)
            if member.awaiting_join is not None:
                self.joined_count -= 1
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def replace(self, old_id: str, new: Member) -> None:
        """A static member is back under a new id: it takes over the old id's role and assignment."""
        old = self.members.pop(old_id)
        self._count_protocols(old.protocols, -1)
        if old.awaiting_join is not None:
            self.joined_count -= 1
        self.pending_syncs.discard(old_id)
        new.assignment = old.assignment
        self.members[new.member_id] = new
        self._count_protocols(new.protocols, 1)
        if new.awaiting_join is not None:
            self.joined_count += 1
        if new.group_instance_id is not None:
            self.static_members[new.group_instance_id] = new.member_id
        if self.leader_id == old_id:
            self.leader_id = new.member_id

    def change_protocols(self, member: Member, protocols: Protocols) -> None:
        self._count_protocols(member.protocols, -1)
        member.protocols = protocols
        self._count_protocols(protocols, 1)

    def park_join(self, member: Member, parked: Parked[JoinGroupResponse]) -> Parked[JoinGroupResponse] | None:
        """Returns the earlier parked request, if any. Its client has given up, but it still needs an answer."""
        before = member.awaiting_join
        if before is None:
            self.joined_count += 1
        member.awaiting_join = parked
        return before

    def unpark_join(self, member: Member) -> Parked[JoinGroupResponse] | None:
        parked = member.awaiting_join
        if parked is not None:
            member.awaiting_join = None
            self.joined_count -= 1
        return parked

    def elect_joined_leader(self) -> bool:
        """Makes sure that the leader has joined; False if no member has."""
        leader = self.members.get(self.leader_id or "")
        if leader is not None and leader.awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def begin_generation(self, now_ms: int) -> None:
        self.generation += 1
        self.protocol = self.preferred_protocol() if self.members else None
        self.topics = self._subscribed_topics()
        self.transition_to(COMPLETING_REBALANCE if self.members else EMPTY, now_ms)
        self.pending_syncs.clear()

    # --- answers and records

    def join_response(self, member_id: str, *, skip_assignment: bool = False) -> JoinGroupResponse:
        """Only the leader gets the list of members."""
        protocol = self.protocol or ""
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=tuple(
                JoinGroupResponseMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    metadata=member.protocols[protocol],
                )
                for member in self.members.values()
            )
            if member_id == self.leader_id
            else (),
        )

    def record(self, assignment: Mapping[str, bytes]) -> StateRecord:
        protocol = self.protocol or ""
        value = StoredGroup(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader_id,
            current_state_timestamp=self.state_timestamp_ms,
            members=tuple(
                member.to_stored(protocol, assignment.get(member.member_id, b"")) for member in self.members.values()
            ),
        )
        return records.group_metadata(self.group_id, value)

    def removal_records(self) -> list[Any]:
        """The tombstone that deletes the group."""
        return [records.group_removal(self.group_id)]

    @property
    def has_state_timestamp(self) -> bool:
        return self.state_timestamp_ms != NO_TIMESTAMP

    def _count_protocols(self, protocols: Protocols, step: int) -> None:
        for name in protocols:
            supporters = self._protocol_counts.get(name, 0) + step
            if supporters:
                self._protocol_counts[name] = supporters
            else:
                del self._protocol_counts[name]

    def _subscribed_topics(self) -> frozenset[str] | None:
        if not self.is_consumer_group:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        try:
            return frozenset(
                topic
                for member in self.members.values()
                for topic in subscribed_topics(member.protocols[self.protocol])
            )
        except CorruptMessage as error:
            logger.warning(
                "group %s: a subscription cannot be read, its offsets do not expire: %s", self.group_id, error
            )
            return None
