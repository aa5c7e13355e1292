"""Requests of the classic protocol, for any type of group.

A consumer group with members handles them (`consumer.classic_members`), an empty one becomes a classic group, and a
share group refuses them.
"""

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.classic.heartbeat import heartbeat
from barnabas.coordinator.group.classic.join import Joining, check_session_timeout, decide_join
from barnabas.coordinator.group.classic.leave import Left, decide_leave
from barnabas.coordinator.group.classic.sync import decide_sync
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.classic_members import (
    classic_heartbeat,
    decide_classic_join,
    decide_classic_leave,
    decide_classic_sync,
)
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import InconsistentGroupProtocol, UnknownMemberId
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def decide_any_join(store: GroupStore, joining: Joining, now: Now) -> Decision[JoinGroupResponse]:
    group = store.modern.get(joining.group_id)
    if group is None:
        return decide_join(store, joining, now)
    if not isinstance(group, ConsumerGroup):
        raise InconsistentGroupProtocol(f"Group {joining.group_id} is not a consumer group.")
    check_session_timeout(store, joining)
    if group.members:
        return decide_classic_join(store, group, joining, now)
    decision = decide_join(store, joining, now)
    decision.records[:0] = records.group_removal(group)
    return decision


def decide_any_sync(store: GroupStore, request: SyncGroupRequest, now: Now) -> Decision[SyncGroupResponse]:
    group = _consumer_group(store, request.group_id)
    if group is None:
        return decide_sync(store, request, now)
    return decide_classic_sync(store, group, request, now)


def any_heartbeat(store: GroupStore, request: HeartbeatRequest, monotonic_ms: int) -> HeartbeatResponse:
    group = _consumer_group(store, request.group_id)
    if group is None:
        return heartbeat(store, request, monotonic_ms)
    return classic_heartbeat(store, group, request, monotonic_ms)


def decide_any_leave(store: GroupStore, request: LeaveGroupRequest, now: Now) -> Decision[Left]:
    group = _consumer_group(store, request.group_id)
    if group is None:
        return decide_leave(store, request, now)
    return decide_classic_leave(store, group, request, now)


def _consumer_group(store: GroupStore, group_id: str) -> ConsumerGroup | None:
    """None if the group is a classic one, or does not exist."""
    group = store.modern.get(group_id)
    if group is None or isinstance(group, ConsumerGroup):
        return group
    raise UnknownMemberId(f"Group {group_id} is not a consumer group.")
