"""Members that leave a share group: with a heartbeat of epoch -1, or because their session has timed out."""

from typing import Any

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.group.share import records
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.share.replay import known_group
from barnabas.coordinator.group.share.sessions import forget
from barnabas.coordinator.group.share.subscriptions import subscribed_names
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound


def leave(store: GroupStore, group_id: str, member_id: str, decision: Decision[Any]) -> None:
    group = known_group(store, group_id)
    if group is None:
        is_other = store.group(group_id) is not None
        raise GroupIdNotFound(f"Group {group_id} is not a share group." if is_other else f"Group {group_id} not found.")
    _remove(store, group, group.member(member_id), decision)


def on_session_timeout(store: GroupStore, group_id: str, member_id: str) -> Decision[None]:
    decision: Decision[None] = Decision(None)
    group = known_group(store, group_id)
    member = None if group is None else group.members.get(member_id)
    if group is not None and member is not None:
        _remove(store, group, member, decision)
    return decision


def _remove(store: GroupStore, group: ShareGroup, member: ShareMember, decision: Decision[Any]) -> None:
    decision.records += records.member_removal(group.group_id, member.member_id)
    topics_hash = store.catalog.hash_of(subscribed_names(group, member, None))
    decision.records.append(records.group_epoch(group.group_id, group.group_epoch + 1, topics_hash))
    forget(store, group.group_id, member.member_id)
