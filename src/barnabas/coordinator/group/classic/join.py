"""JoinGroup: who may join, under which id, and whether that starts a rebalance.

    no id, dynamic   version 4+: the client gets an id and joins with it; before: it joins at once
    no id, static    a new static member, or a known one that is back under a new id (the old id is fenced)
    pending id       joins
    known id         joins again: starts a rebalance, unless a follower repeats what the group knows already

The response is parked until the group's rebalance is complete.
"""

import datetime
from dataclasses import dataclass
from typing import Any

from barnabas.coordinator.core.decision import Decision, Now, Parked
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.member import UNKNOWN_MEMBER_ID, Member, Protocols, session_key
from barnabas.coordinator.group.classic.rebalance import maybe_complete_join, rebalance_or_complete
from barnabas.coordinator.group.classic.sessions import discard, dismiss, keep_session, remove_member
from barnabas.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.record_format import TEXT_BYTES_MAX, fits
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import (
    FencedInstanceId,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidRequest,
    InvalidSessionTimeout,
    KafkaError,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

_MILLISECOND = datetime.timedelta(milliseconds=1)

JoinDecision = Decision[JoinGroupResponse]


class MemberIdAssigned(MemberIdRequired):
    """Not a failure: the client must join again with this id."""

    def __init__(self, member_id: str) -> None:
        super().__init__(f"join again as {member_id}")
        self.member_id = member_id


@dataclass(frozen=True, slots=True)
class Joining:
    """A JoinGroup request, the same for all its versions."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client: ClientInfo
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    needs_member_id: bool
    """From version 4 on a dynamic member gets its id before it joins (KIP-394)."""
    can_skip_assignment: bool
    """From version 9 on a leader can be told to skip the assignment (KIP-814)."""

    @classmethod
    def from_request(cls, request: JoinGroupRequest, client: ClientInfo, api_version: int) -> "Joining":
        session_timeout_ms = request.session_timeout // _MILLISECOND
        rebalance_timeout_ms = request.rebalance_timeout // _MILLISECOND
        protocols: Protocols = {}
        for protocol in request.protocols:
            protocols.setdefault(protocol.name, protocol.metadata)
        if not all(map(fits, (request.group_instance_id, request.protocol_type, *protocols))):
            raise InvalidRequest(f"an instance id or a protocol has more than {TEXT_BYTES_MAX} bytes")
        return cls(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            client=client,
            session_timeout_ms=session_timeout_ms,
            # Version 0 has only one timeout.
            rebalance_timeout_ms=session_timeout_ms if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=protocols,
            needs_member_id=api_version >= 4,
            can_skip_assignment=api_version >= 9,
        )


def check_session_timeout(store: GroupStore, joining: Joining) -> None:
    settings = store.settings
    if not settings.session_timeout_ms_min <= joining.session_timeout_ms <= settings.session_timeout_ms_max:
        raise InvalidSessionTimeout(
            f"session.timeout.ms is {joining.session_timeout_ms}; this broker allows "
            f"{settings.session_timeout_ms_min} to {settings.session_timeout_ms_max}"
        )


def decide_join(store: GroupStore, joining: Joining, now: Now) -> JoinDecision:
    check_session_timeout(store, joining)
    known = store.groups.get(joining.group_id)
    if known is None:
        return _join_new_group(store, joining, now)
    if not _is_below_size_limit(store, known, joining.member_id):
        return _refuse_full_group(store, known, joining.member_id, now)
    if not known.supports(joining.protocol_type, joining.protocols):
        raise InconsistentGroupProtocol(f"the member and group {known.group_id} have no protocol in common")
    if joining.member_id == UNKNOWN_MEMBER_ID:
        return _join_unknown(store, known, joining, now)
    return _join_known(store, known, joining, now)


def _join_new_group(store: GroupStore, joining: Joining, now: Now) -> JoinDecision:
    if joining.member_id != UNKNOWN_MEMBER_ID:
        raise UnknownMemberId(f"there is no group {joining.group_id}")
    group = ClassicGroup(joining.group_id, now.wall_ms)
    if not group.supports(joining.protocol_type, joining.protocols):
        raise InconsistentGroupProtocol("a protocol type and at least one protocol are needed")
    stored = group.record({})
    store.groups[group.group_id] = group
    decision = _join_unknown(store, group, joining, now)
    decision.records.append(stored)

    def undo(error: KafkaError, failed: Now) -> Decision[None]:
        undone: Decision[None] = Decision(None)
        if store.groups.get(group.group_id) is group:
            discard(store, group, error, failed.wall_ms, undone)
        return undone

    decision.on_failed = undo
    return decision


def _is_below_size_limit(store: GroupStore, group: ClassicGroup, member_id: str) -> bool:
    size_max = store.settings.group_size_max
    if group.state is EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is PREPARING_REBALANCE:
        # The limit may have been lowered below the size of the group: the first to join stay.
        return (member is not None and member.awaiting_join is not None) or group.joined_count < size_max
    return member is not None or len(group.members) < size_max


def _refuse_full_group(store: GroupStore, group: ClassicGroup, member_id: str, now: Now) -> JoinDecision:
    decision: JoinDecision = Decision(GroupMaxSizeReached(f"group {group.group_id} is full; raise group.max.size"))
    remove_member(store, group, member_id, decision)
    maybe_complete_join(store, group, now, decision)
    return decision


def _join_unknown(store: GroupStore, group: ClassicGroup, joining: Joining, now: Now) -> JoinDecision:
    instance_id = joining.group_instance_id
    member_id = store.new_member_id(joining.client.client_id if instance_id is None else instance_id)
    if instance_id is not None:
        old_id = group.static_members.get(instance_id)
        if old_id is not None:
            return _replace_static(store, group, joining, old_id, member_id, now)
        return _add(store, group, joining, member_id, now)
    if not joining.needs_member_id:
        return _add(store, group, joining, member_id, now)
    if len(group.pending_joins) >= store.settings.pending_members_max:
        raise GroupMaxSizeReached(f"{len(group.pending_joins)} clients are joining group {group.group_id} already")
    group.pending_joins.add(member_id)
    store.timers.set(session_key(group.group_id, member_id), now.monotonic_ms + joining.session_timeout_ms)
    return Decision(MemberIdAssigned(member_id))


def _join_known(store: GroupStore, group: ClassicGroup, joining: Joining, now: Now) -> JoinDecision:
    member_id = joining.member_id
    if member_id in group.pending_joins:
        if joining.group_instance_id is not None:
            raise InvalidRequest("a static member cannot join with the pending id of a dynamic one")
        return _add(store, group, joining, member_id, now)
    member = group.validated(member_id, joining.group_instance_id)
    if group.state is EMPTY:
        raise UnknownMemberId(f"group {group.group_id} is empty")
    unchanged = member.offers(joining.protocols)
    if unchanged and (
        # Its response was lost, or it is a follower that joins again without a change. A leader that joins a
        # stable group again wants a new assignment, because the topics have changed.
        group.state is COMPLETING_REBALANCE or (group.state is STABLE and member_id != group.leader_id)
    ):
        return Decision(group.join_response(member_id))
    parked: Parked[JoinGroupResponse] = Parked()
    decision: JoinDecision = Decision(parked)
    _update(group, member, joining, parked, decision)
    rebalance_or_complete(store, group, now, decision)
    return decision


def _add(store: GroupStore, group: ClassicGroup, joining: Joining, member_id: str, now: Now) -> JoinDecision:
    parked: Parked[JoinGroupResponse] = Parked()
    decision: JoinDecision = Decision(parked)
    member = _member(group, joining, member_id)
    member.is_new = True
    if not group.members:
        group.protocol_type = joining.protocol_type
    if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
        group.new_member_added = True
    group.add(member, parked)
    # It cannot send heartbeats before it has its id, and a client that gave up joins again as a new member.
    store.timers.set(member.session_key, now.monotonic_ms + store.settings.new_member_join_timeout_ms)
    rebalance_or_complete(store, group, now, decision)
    return decision


def _member(group: ClassicGroup, joining: Joining, member_id: str) -> Member:
    return Member(
        group.group_id,
        member_id,
        joining.group_instance_id,
        joining.client,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        session_timeout_ms=joining.session_timeout_ms,
        protocols=joining.protocols,
    )


def _update(
    group: ClassicGroup,
    member: Member,
    joining: Joining,
    parked: Parked[JoinGroupResponse],
    decision: Decision[Any],
) -> None:
    group.change_protocols(member, joining.protocols)
    member.rebalance_timeout_ms = joining.rebalance_timeout_ms
    member.session_timeout_ms = joining.session_timeout_ms
    decision.release(group.park_join(member, parked), RebalanceInProgress("a later JoinGroup has replaced this one"))


def _replace_static(
    store: GroupStore, group: ClassicGroup, joining: Joining, old_id: str, member_id: str, now: Now
) -> JoinDecision:
    """A static member is back under a new id. A stable group that keeps its protocol needs no rebalance."""
    parked: Parked[JoinGroupResponse] = Parked()
    decision: JoinDecision = Decision(parked)
    old = group.members[old_id]
    old_leader = group.leader_id
    fenced = FencedInstanceId(
        f"another member has joined as {joining.group_instance_id}; use another group.instance.id"
    )
    dismiss(old, fenced, decision)
    store.timers.cancel(old.session_key)
    member = _member(group, joining, member_id)
    member.awaiting_join = parked
    group.replace(old_id, member)
    old.awaiting_join = old.awaiting_sync = None
    keep_session(store, member, now.monotonic_ms)

    if group.state is not STABLE or group.preferred_protocol() != group.protocol:
        # The leader may be computing an assignment for the old id: all members join again.
        rebalance_or_complete(store, group, now, decision)
        return decision

    generation = group.generation
    decision.records.append(group.record({each.member_id: each.assignment for each in group.members.values()}))

    def is_current() -> bool:
        """Skipped if a rebalance began meanwhile: that answers the request."""
        return group.state is STABLE and group.generation == generation and member.awaiting_join is parked

    def answer(committed: Now) -> Decision[None]:
        stored: Decision[None] = Decision(None)
        if is_current():
            group.unpark_join(member)
            keep_session(store, member, committed.monotonic_ms)
            response = group.join_response(
                member_id, skip_assignment=joining.can_skip_assignment and member_id == group.leader_id
            )
            if not joining.can_skip_assignment:
                # Such a client would compute an assignment if it were the leader. It gets the leader's old id, which
                # is its own: so it acts as a follower and fetches the assignment it had.
                response = JoinGroupResponse(
                    generation_id=response.generation_id,
                    protocol_type=response.protocol_type,
                    protocol_name=response.protocol_name,
                    leader=old_leader or "",
                    member_id=member_id,
                )
            stored.release(parked, response)
        return stored

    def undo(error: KafkaError, failed: Now) -> Decision[None]:
        undone: Decision[None] = Decision(None)
        if group.members.get(member_id) is member:
            undone.release(group.unpark_join(member), error)
            group.replace(member_id, old)
            store.timers.cancel(member.session_key)
            keep_session(store, old, failed.monotonic_ms)
        return undone

    decision.on_committed = answer
    decision.on_failed = undo
    return decision
