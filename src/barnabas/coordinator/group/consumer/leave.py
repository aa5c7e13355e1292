"""Members that leave, by a heartbeat or because they missed a deadline. The group epoch grows.

If only members of the classic protocol are left, the group becomes a classic one again (`migration`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import NOTHING, STATIC_LEAVE_EPOCH, ConsumerMember, MemberState
from barnabas.coordinator.group.consumer.migration import becomes_classic_without, downgrade_without
from barnabas.coordinator.group.consumer.sessions import REBALANCE, watch_removal
from barnabas.coordinator.group.consumer.static_members import known_member
from barnabas.coordinator.group.consumer.subscriptions import subscribed_names
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def decide_consumer_leave(
    store: GroupStore, request: ConsumerGroupHeartbeatRequest, now: Now
) -> Decision[ConsumerGroupHeartbeatResponse]:
    group = store.modern.get(request.group_id)
    if not isinstance(group, ConsumerGroup):
        is_known = group is not None or request.group_id in store.groups
        raise GroupIdNotFound(
            f"Group {request.group_id} is not a consumer group." if is_known else f"Group {request.group_id} not found."
        )
    member = known_member(group, request.member_id, request.instance_id)
    decision: Decision[ConsumerGroupHeartbeatResponse] = Decision(
        ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    )
    if request.instance_id is not None and request.member_epoch == STATIC_LEAVE_EPOCH:
        decision.records.append(records.current_assignment(group.group_id, _without_revocations(member)))
    else:
        remove_members(store, group, [member], now, decision)
    return decision


def _without_revocations(member: ConsumerMember) -> ConsumerMember:
    """It has stopped consuming, so its revocations are done; its other partitions wait for its return."""
    return replace(
        member,
        member_epoch=STATIC_LEAVE_EPOCH,
        assigned={topic_id: dict.fromkeys(owned, 0) for topic_id, owned in member.assigned.items()},
        pending_revocation=NOTHING,
    )


def remove_members(
    store: GroupStore, group: ConsumerGroup, members: Sequence[ConsumerMember], now: Now, decision: Decision[Any]
) -> None:
    if not members:
        return
    if becomes_classic_without(store, group, members):
        downgrade_without(store, group, members, now, decision)
        return
    for member in members:
        decision.records += records.member_removal(group.group_id, member.member_id)
    leaving: dict[str, int] = {}
    for member in members:
        if member.regex:
            leaving[member.regex] = leaving.get(member.regex, 0) + 1
    for expression, count in leaving.items():
        if group.regexes.get(expression) == count:
            decision.records.append(records.regex(group.group_id, expression, None))
    topics_hash = store.catalog.hash_of(subscribed_names(group, [(member, None) for member in members]))
    decision.records.append(records.group_epoch(group.group_id, group.group_epoch + 1, topics_hash))
    watch_removal(store, group.group_id, members, decision)


def on_deadline(store: GroupStore, kind: str, group_id: str, member_id: str, now: Now) -> Decision[None]:
    decision: Decision[None] = Decision(None)
    group = store.modern.get(group_id)
    if isinstance(group, ConsumerGroup):
        member = group.members.get(member_id)
        is_late = kind != REBALANCE or (member is not None and member.state is MemberState.UNREVOKED_PARTITIONS)
        if member is not None and is_late:
            remove_members(store, group, [member], now, decision)
    return decision
