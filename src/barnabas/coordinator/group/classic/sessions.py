"""The sessions of a classic group's members, and how members and groups end. In memory only."""

from typing import TYPE_CHECKING, Any

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.member import Member, session_key
from barnabas.coordinator.group.classic.states import DEAD
from barnabas.wire.errors import KafkaError, UnknownMemberId

if TYPE_CHECKING:
    from barnabas.coordinator.group.store import GroupStore


def keep_session(store: "GroupStore", member: Member, monotonic_ms: int) -> None:
    store.timers.set(member.session_key, monotonic_ms + member.session_timeout_ms)


def remove_member(store: "GroupStore", group: ClassicGroup, member_id: str, decision: Decision[Any]) -> None:
    """Remove a member or a pending id, and answer its parked requests. It may join again."""
    store.timers.cancel(session_key(group.group_id, member_id))
    member = group.remove(member_id)
    if member is not None:
        gone = UnknownMemberId(f"{member_id} is no longer a member of group {group.group_id}")
        dismiss(member, gone, decision)


def dismiss(member: Member, error: KafkaError, decision: Decision[Any]) -> None:
    decision.release(member.awaiting_join, error)
    decision.release(member.awaiting_sync, error)


def discard(store: "GroupStore", group: ClassicGroup, error: KafkaError, now_ms: int, decision: Decision[Any]) -> None:
    """Remove the group, and answer its parked requests."""
    store.groups.pop(group.group_id, None)
    store.timers.cancel(group.join_key)
    store.timers.cancel(group.sync_key)
    for pending_id in group.pending_joins:
        store.timers.cancel(session_key(group.group_id, pending_id))
    for member in group.members.values():
        store.timers.cancel(member.session_key)
        dismiss(member, error, decision)
    group.transition_to(DEAD, now_ms)
