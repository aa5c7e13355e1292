"""SyncGroup: the leader sends the assignment of all members, and each member receives its own.

Followers are parked until the leader's assignment is stored; then the group is stable and all are answered.
"""

from barnabas.coordinator.core.decision import Decision, Now, Parked
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.rebalance import (
    prepare_rebalance,
    reset_assignments,
    set_assignments,
    sync_response,
)
from barnabas.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import (
    IllegalGeneration,
    InconsistentGroupProtocol,
    KafkaError,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

SyncDecision = Decision[SyncGroupResponse]


def decide_sync(store: GroupStore, request: SyncGroupRequest, now: Now) -> SyncDecision:
    group = store.groups.get(request.group_id)
    if group is None or group.state is EMPTY:
        raise UnknownMemberId(f"group {request.group_id} has no members; join first")
    member = group.validated(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}; join again")
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol):
        raise InconsistentGroupProtocol(
            f"group {group.group_id} uses {group.protocol_type}/{group.protocol}; join again"
        )
    if group.state is PREPARING_REBALANCE:
        raise RebalanceInProgress("a member joined or left; join again")

    group.pending_syncs.discard(member.member_id)
    if not group.pending_syncs:
        store.timers.cancel(group.sync_key)
    if group.state is STABLE:
        return Decision(sync_response(group, member.assignment))

    parked: Parked[SyncGroupResponse] = Parked()
    decision: SyncDecision = Decision(parked)
    decision.release(member.awaiting_sync, RebalanceInProgress("a later SyncGroup has replaced this one"))
    member.awaiting_sync = parked
    if member.member_id == group.leader_id:
        _store_assignment(store, group, request, decision)
    return decision


def _store_assignment(
    store: GroupStore, group: ClassicGroup, request: SyncGroupRequest, decision: SyncDecision
) -> None:
    generation = group.generation
    # Members without an assignment get an empty one; assignments of non-members are ignored.
    assignment = {each.member_id: each.assignment for each in request.assignments}
    decision.records.append(group.record(assignment))

    def is_current() -> bool:
        """If a member joined while the assignment was being stored, it is out of date."""
        return group.state is COMPLETING_REBALANCE and group.generation == generation

    def send_assignments(now: Now) -> Decision[None]:
        stored: Decision[None] = Decision(None)
        if is_current():
            set_assignments(store, group, assignment, now, stored)
            group.transition_to(STABLE, now.wall_ms)
        return stored

    def undo(error: KafkaError, now: Now) -> Decision[None]:
        failed: Decision[None] = Decision(None)
        if is_current():
            reset_assignments(store, group, error, now, failed)
            prepare_rebalance(store, group, now, failed)
        return failed

    decision.on_committed = send_assignments
    decision.on_failed = undo


def _differ(requested: str | None, current: str | None) -> bool:
    return requested is not None and current is not None and requested != current
