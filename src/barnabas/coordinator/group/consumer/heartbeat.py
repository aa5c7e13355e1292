"""ConsumerGroupHeartbeat: the request with which members join, stay alive, change, revoke partitions and leave.

    epoch 0       joins, or joins again after it was fenced
    epoch > 0     is alive in that epoch; may send a changed subscription, and the partitions it owns
    epoch -1, -2  leaves; -2: a static member that will be back

In this order: identify the member, update its subscription, the group epoch and the target assignment, then reconcile
the member with its target.
"""

import datetime
import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.topics import shared_names
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.leave import decide_consumer_leave
from barnabas.coordinator.group.consumer.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    OwnedPartitions,
)
from barnabas.coordinator.group.consumer.migration import upgraded
from barnabas.coordinator.group.consumer.reconcile import Reported, reconciled
from barnabas.coordinator.group.consumer.sessions import keep_session, watch_revocation
from barnabas.coordinator.group.consumer.static_members import check_epoch, known_member, replacing
from barnabas.coordinator.group.consumer.subscriptions import RegexChange, update_epoch, update_regexes
from barnabas.coordinator.group.consumer.target import Target, update_target
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound, GroupMaxSizeReached
from barnabas.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_MILLISECOND = datetime.timedelta(milliseconds=1)

HeartbeatDecision = Decision[ConsumerGroupHeartbeatResponse]


def decide_consumer_heartbeat(
    store: GroupStore, request: ConsumerGroupHeartbeatRequest, client: ClientInfo, now: Now
) -> HeartbeatDecision:
    if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        return decide_consumer_leave(store, request, now)
    decision: HeartbeatDecision = Decision(ConsumerGroupHeartbeatResponse())
    joins = request.member_epoch == JOIN_EPOCH
    group = _group(store, request.group_id, joins, now, decision)
    check_group_size(store, group, request.member_id)
    before = _identified(store, group, request, joins, decision)
    member = _updated_member(before, request, client)
    if member != before:
        decision.records.append(records.member_metadata(group.group_id, member))
    names_changed = member.subscribed_topic_names != before.subscribed_topic_names
    regex_change = update_regexes(store, group, before, member, now, decision)
    epoch = update_epoch(
        store,
        group,
        before,
        member,
        changed=names_changed or regex_change is RegexChange.RESOLVED,
        decision=decision,
    )
    target = update_target(store, group, epoch, before, member, now, decision)
    member = reconcile(
        store,
        group,
        member,
        target,
        subscription_changed=names_changed or regex_change is not RegexChange.NONE,
        reported=request.topic_partitions,
        now=now,
        decision=decision,
    )
    keep_session(store, group.group_id, member, now.monotonic_ms)
    is_full = (
        request.rebalance_timeout >= datetime.timedelta()
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    decision.response = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval=store.configs.consumer_heartbeat_interval_ms(group.group_id) * _MILLISECOND,
        assignment=_assignment(member.assigned) if joins or is_full or before.assigned != member.assigned else None,
    )
    return decision


def _group(store: GroupStore, group_id: str, joins: bool, now: Now, decision: Decision[Any]) -> ConsumerGroup:
    """The group, or a new one as it will be after the decision's records are replayed."""
    group = store.modern.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if group is not None:
        raise GroupIdNotFound(f"Group {group_id} is not a consumer group.")
    if not joins:
        is_classic = group_id in store.groups
        raise GroupIdNotFound(
            f"Group {group_id} is not a consumer group." if is_classic else f"Consumer group {group_id} not found."
        )
    return upgraded(store, group_id, now, decision)


def check_group_size(store: GroupStore, group: ConsumerGroup, member_id: str) -> None:
    size_max = store.settings.consumer_group_size_max
    if len(group.members) >= size_max and member_id not in group.members:
        raise GroupMaxSizeReached(f"The consumer group has reached its maximum capacity of {size_max} members.")


def _identified(
    store: GroupStore,
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    joins: bool,
    decision: Decision[Any],
) -> ConsumerMember:
    """The member before this request."""
    if not joins:
        member = known_member(group, request.member_id, request.instance_id)
        check_epoch(member, request.member_epoch, request.topic_partitions)
        return member
    member_id = request.member_id or store.new_modern_member_id()
    if request.instance_id is not None:
        existing = group.static_member(request.instance_id)
        if existing is not None:
            return replacing(group, existing, member_id, decision)
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)


def _updated_member(
    before: ConsumerMember, request: ConsumerGroupHeartbeatRequest, client: ClientInfo
) -> ConsumerMember:
    """The member with the fields of the request; null means unchanged. It now speaks the new protocol."""
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout // _MILLISECOND
    return replace(
        before,
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=before.server_assignor if request.server_assignor is None else request.server_assignor,
        subscribed_topic_names=before.subscribed_topic_names if names is None else shared_names(frozenset(names)),
        subscribed_topic_regex=before.subscribed_topic_regex
        if request.subscribed_topic_regex is None
        else request.subscribed_topic_regex,
        client=client,
        classic=None,
    )


def reconcile(
    store: GroupStore,
    group: ConsumerGroup,
    member: ConsumerMember,
    target: Target,
    *,
    subscription_changed: bool,
    reported: Reported,
    now: Now,
    decision: Decision[Any],
) -> ConsumerMember:
    if member.is_reconciled_to(target.epoch) and not subscription_changed:
        return member
    after = reconciled(
        group,
        member,
        target_epoch=target.epoch,
        target=target.partitions,
        topic_ids=store.catalog.topic_ids(group.topics_of(member)),
        subscription_changed=subscription_changed,
        reported=reported,
    )
    if after != member:
        decision.records.append(records.current_assignment(group.group_id, after))
        watch_revocation(store, group.group_id, after, now.monotonic_ms)
    return after


def _assignment(assigned: OwnedPartitions) -> Assignment:
    return Assignment(topic_partitions=tuple(_topics(assigned.items())))


def _topics(items: Iterable[tuple[uuid.UUID, Iterable[int]]]) -> Iterable[TopicPartitions]:
    for topic_id, partitions in items:
        yield TopicPartitions(topic_id=topic_id, partitions=tuple(partitions))
