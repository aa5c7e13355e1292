"""The two phases of a rebalance: collect a JoinGroup of every member, then begin the next generation.

A group that was empty waits `initial_rebalance_delay_ms` for more members, and again while new ones join. Any other
waits until all its members and all pending ones have joined, or until the longest of their rebalance timeouts. Dynamic
members that did not join in time are removed. Static ones stay, since they are expected back.
"""

from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.classic.group import ClassicGroup, InitialDelay
from barnabas.coordinator.group.classic.sessions import keep_session, remove_member
from barnabas.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import KafkaError, RebalanceInProgress
from barnabas.wire.messages.sync_group import SyncGroupResponse


def rebalance_or_complete(store: GroupStore, group: ClassicGroup, now: Now, decision: Decision[Any]) -> None:
    if group.can_rebalance():
        prepare_rebalance(store, group, now, decision)
    else:
        maybe_complete_join(store, group, now, decision)


def prepare_rebalance(store: GroupStore, group: ClassicGroup, now: Now, decision: Decision[Any]) -> None:
    if group.state is COMPLETING_REBALANCE:
        reset_assignments(store, group, RebalanceInProgress("a member joined or left; join again"), now, decision)
    group.pending_syncs.clear()
    store.timers.cancel(group.sync_key)
    if group.state is EMPTY:
        delay_ms = store.settings.initial_rebalance_delay_ms
        group.initial_delay = InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        group.new_member_added = False
        _wait_for_joins(store, group, delay_ms, now)
        group.transition_to(PREPARING_REBALANCE, now.wall_ms)
        return
    group.transition_to(PREPARING_REBALANCE, now.wall_ms)
    if group.all_joined:
        complete_join(store, group, now, decision)
    else:
        _wait_for_joins(store, group, group.rebalance_timeout_ms, now)


def maybe_complete_join(store: GroupStore, group: ClassicGroup, now: Now, decision: Decision[Any]) -> None:
    """Only if all have joined. The first rebalance of a group always waits its full delay for more members."""
    if group.state is PREPARING_REBALANCE and group.previous_state is not EMPTY and group.all_joined:
        complete_join(store, group, now, decision)


def on_join_timer(store: GroupStore, group: ClassicGroup, now: Now, decision: Decision[Any]) -> None:
    initial = group.initial_delay
    if initial is not None and group.new_member_added and initial.remaining_ms > 0:
        group.new_member_added = False
        delay_ms = min(store.settings.initial_rebalance_delay_ms, initial.remaining_ms)
        group.initial_delay = InitialDelay(delay_ms, max(initial.remaining_ms - initial.delay_ms, 0))
        _wait_for_joins(store, group, delay_ms, now)
    else:
        complete_join(store, group, now, decision)


def complete_join(store: GroupStore, group: ClassicGroup, now: Now, decision: Decision[Any]) -> None:
    store.timers.cancel(group.join_key)
    late = [member for member in group.members.values() if member.awaiting_join is None and not member.is_static]
    for member in late:
        remove_member(store, group, member.member_id, decision)

    if group.members and not group.elect_joined_leader():
        # Only static members are left, and none has joined. They will join, or their sessions will time out.
        _wait_for_joins(store, group, group.rebalance_timeout_ms, now)
        return
    group.initial_delay = None
    group.begin_generation(now.wall_ms)
    if group.state is EMPTY:
        # If storing this fails, a new coordinator loads the old generation, whose members time out there.
        decision.records.append(group.record({}))
        return
    for member in group.members.values():
        decision.release(group.unpark_join(member), group.join_response(member.member_id))
        keep_session(store, member, now.monotonic_ms)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    store.timers.set(group.sync_key, now.monotonic_ms + group.rebalance_timeout_ms)


def on_sync_timer(store: GroupStore, group: ClassicGroup, now: Now, decision: Decision[Any]) -> None:
    """Remove members that joined but never sent SyncGroup."""
    if group.state in (COMPLETING_REBALANCE, STABLE) and group.pending_syncs:
        for member_id in list(group.pending_syncs):
            remove_member(store, group, member_id, decision)
        prepare_rebalance(store, group, now, decision)


def reset_assignments(
    store: GroupStore, group: ClassicGroup, error: KafkaError, now: Now, decision: Decision[Any]
) -> None:
    for member in group.members.values():
        member.assignment = b""
    _answer_syncs(store, group, error, now, decision)


def set_assignments(
    store: GroupStore, group: ClassicGroup, assignment: dict[str, bytes], now: Now, decision: Decision[Any]
) -> None:
    for member in group.members.values():
        member.assignment = assignment.get(member.member_id, b"")
    _answer_syncs(store, group, None, now, decision)


def sync_response(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment)


def _answer_syncs(
    store: GroupStore, group: ClassicGroup, error: KafkaError | None, now: Now, decision: Decision[Any]
) -> None:
    for member in group.members.values():
        if member.awaiting_sync is not None:
            decision.release(member.awaiting_sync, error or sync_response(group, member.assignment))
            member.awaiting_sync = None
            # It could not send heartbeats while it waited.
            keep_session(store, member, now.monotonic_ms)


def _wait_for_joins(store: GroupStore, group: ClassicGroup, timeout_ms: int, now: Now) -> None:
    store.timers.set(group.join_key, now.monotonic_ms + timeout_ms)
