"""Members that leave: by LeaveGroup, or because their session has timed out."""

from typing import Any

from barnabas.coordinator.decision import Decision, Now
from barnabas.coordinator.group.classic_group import ClassicGroup
from barnabas.coordinator.group.member import UNKNOWN_MEMBER_ID
from barnabas.coordinator.group.rebalance import maybe_complete_join, rebalance_or_complete
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import ErrorCode, KafkaError, UnknownMemberId
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse


def decide_leave(store: GroupStore, request: LeaveGroupRequest, now: Now) -> Decision[LeaveGroupResponse]:
    """Each member of the request gets its own answer. Administrators name static members by instance id alone."""
    group = store.groups.get(request.group_id)
    size_before = 0 if group is None else len(group.members)
    parting: Decision[Any] = Decision(None)
    responses = []
    for identity in request.members:
        error = UnknownMemberId.code if group is None else _remove(store, group, identity, parting)
        responses.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error)
        )
    if group is not None:
        if len(group.members) < size_before:
            rebalance_or_complete(store, group, now, parting)
        else:
            maybe_complete_join(store, group, now, parting)
    return Decision(LeaveGroupResponse(members=tuple(responses)), parting.records, releases=parting.releases)


def on_session_timer(store: GroupStore, group: ClassicGroup, member_id: str, now: Now, decision: Decision[Any]) -> None:
    member = group.members.get(member_id)
    if member is None:
        # The id was assigned but never used: the rebalance no longer waits for it.
        group.pending_joins.discard(member_id)
        maybe_complete_join(store, group, now, decision)
    elif not member.has_parked_request:
        store.remove_member(group, member_id, decision)
        rebalance_or_complete(store, group, now, decision)


def _remove(store: GroupStore, group: ClassicGroup, identity: MemberIdentity, decision: Decision[Any]) -> ErrorCode:
    try:
        store.remove_member(group, _leaving_id(group, identity), decision)
    except KafkaError as error:
        return error.code
    return ErrorCode.none


def _leaving_id(group: ClassicGroup, identity: MemberIdentity) -> str:
    if identity.member_id == UNKNOWN_MEMBER_ID:
        member_id = group.static_members.get(identity.group_instance_id or "")
        if member_id is None:
            raise UnknownMemberId(f"group {group.group_id} has no static member {identity.group_instance_id}")
        return member_id
    if identity.member_id in group.pending_joins:
        return identity.member_id
    return group.validated(identity.member_id, identity.group_instance_id).member_id
