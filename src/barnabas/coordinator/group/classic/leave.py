"""Members that leave: by LeaveGroup, or because their session has timed out."""

from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.member import UNKNOWN_MEMBER_ID
from barnabas.coordinator.group.classic.rebalance import maybe_complete_join, rebalance_or_complete
from barnabas.coordinator.group.classic.sessions import remove_member
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import KafkaError, UnknownMemberId
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity

Left = list[KafkaError | None]
"""For each member of the request: None if it has left, or why it cannot."""


def decide_leave(store: GroupStore, request: LeaveGroupRequest, now: Now) -> Decision[Left]:
    """Each member of the request gets its own answer. Administrators name static members by instance id alone."""
    group = store.groups.get(request.group_id)
    if group is None:
        unknown = UnknownMemberId(f"there is no group {request.group_id}")
        return Decision([unknown] * len(request.members))
    size_before = len(group.members)
    left: Left = []
    decision: Decision[Left] = Decision(left)
    for identity in request.members:
        try:
            remove_member(store, group, _leaving_id(group, identity), decision)
        except KafkaError as error:
            left.append(error)
        else:
            left.append(None)
    if len(group.members) < size_before:
        rebalance_or_complete(store, group, now, decision)
    else:
        maybe_complete_join(store, group, now, decision)
    return decision


def on_session_timer(store: GroupStore, group: ClassicGroup, member_id: str, now: Now, decision: Decision[Any]) -> None:
    member = group.members.get(member_id)
    if member is None:
        # The id was assigned but never used: the rebalance no longer waits for it.
        group.pending_joins.discard(member_id)
        maybe_complete_join(store, group, now, decision)
    elif not member.has_parked_request:
        remove_member(store, group, member_id, decision)
        rebalance_or_complete(store, group, now, decision)


def _leaving_id(group: ClassicGroup, identity: MemberIdentity) -> str:
    if identity.member_id == UNKNOWN_MEMBER_ID:
        member_id = group.static_members.get(identity.group_instance_id or "")
        if member_id is None:
            raise UnknownMemberId(f"group {group.group_id} has no static member {identity.group_instance_id}")
        return member_id
    if identity.member_id in group.pending_joins:
        return identity.member_id
    return group.validated(identity.member_id, identity.group_instance_id).member_id
