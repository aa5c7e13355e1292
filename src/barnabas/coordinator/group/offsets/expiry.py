"""Expires committed offsets, and deletes groups without members and offsets.

    a group that never had members   an offset expires when its commit is older than the retention
    a group without members          ... when the group has been empty for longer than the retention
    a stable classic consumer group  ... when its commit is older, and the group no longer subscribes to the topic
    a consumer group of KIP-848      the same, in every state
    any other                        offsets do not expire

The retention is offsets.retention.minutes, or what an old client asked for with its commit.
"""

from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.states import EMPTY, STABLE
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.offsets.stored import NO_TIMESTAMP, CommittedOffset, OffsetRecord
from barnabas.coordinator.group.store import GroupStore

EXPIRY_KEY = ("expiry",)


def schedule_expiry(store: GroupStore, now: Now) -> None:
    store.timers.set(EXPIRY_KEY, now.monotonic_ms + store.settings.offsets_retention_check_interval_ms)


def decide_expiry(store: GroupStore, now: Now) -> Decision[None]:
    decision: Decision[None] = Decision(None, atomic=False)
    for group in store.groups.values():
        expired = _expired(store, group, now.wall_ms)
        decision.records += expired
        left = sum(map(len, store.offsets.get(group.group_id, {}).values())) - len(expired)
        is_needed = group.pending_joins or group.group_id in store.pending_offsets
        if left == 0 and group.state is EMPTY and not is_needed:
            decision.records += group.removal_records()
    for modern in store.modern.values():
        if isinstance(modern, ConsumerGroup):
            decision.records += _expired_of_consumers(store, modern, now.wall_ms)
    schedule_expiry(store, now)
    return decision


def _expired_of_consumers(store: GroupStore, group: ConsumerGroup, now_ms: int) -> list[Any]:
    group_id = group.group_id
    offsets = store.offsets.get(group_id, {})
    expired: list[Any] = [
        OffsetRecord(group_id, topic, partition, None)
        for topic, partitions in offsets.items()
        if not group.is_subscribed_to(topic)
        for partition, offset in partitions.items()
        if _is_past(offset, offset.commit_timestamp_ms, now_ms, store.settings.offsets_retention_ms)
        and not store.pending_offsets.is_unstable(group_id, topic, partition)
    ]
    is_over = len(expired) == sum(map(len, offsets.values())) and group_id not in store.pending_offsets
    return [*expired, *group.removal_records()] if is_over and not group.members else expired


def _expired(store: GroupStore, group: ClassicGroup, now_ms: int) -> list[OffsetRecord]:
    subscriptions_known = group.state is STABLE and group.is_consumer_group and group.topics is not None
    if group.protocol_type is not None and group.state is not EMPTY and not subscriptions_known:
        return []
    return [
        OffsetRecord(group.group_id, topic, partition, None)
        for topic, partitions in store.offsets.get(group.group_id, {}).items()
        if not group.is_subscribed_to(topic)
        for partition, offset in partitions.items()
        if _is_expired(group, offset, now_ms, store.settings.offsets_retention_ms)
        and not store.pending_offsets.is_unstable(group.group_id, topic, partition)
    ]


def _is_expired(group: ClassicGroup, offset: CommittedOffset, now_ms: int, retention_ms: int) -> bool:
    since_ms = offset.commit_timestamp_ms
    if group.protocol_type is not None and group.state is EMPTY and group.has_state_timestamp:
        since_ms = group.state_timestamp_ms
    return _is_past(offset, since_ms, now_ms, retention_ms)


def _is_past(offset: CommittedOffset, since_ms: int, now_ms: int, retention_ms: int) -> bool:
    if offset.expire_timestamp_ms != NO_TIMESTAMP:
        return now_ms >= offset.expire_timestamp_ms
    return now_ms - since_ms >= retention_ms
