"""ShareGroupHeartbeat: the request with which members of a share group join, stay alive, change and leave.

    epoch 0    joins, or joins again after it was fenced
    epoch > 0  is alive in that epoch; may send a changed subscription
    epoch -1   leaves

A partition is assigned only once the share coordinator has a state of it. If the group subscribes to partitions without
a state, the decision lists them (`to_initialize`), and the assignment is computed when they have one.
"""

import datetime
from dataclasses import replace
from typing import Final, NamedTuple

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions
from barnabas.coordinator.group.common.record_format import TEXT_BYTES_MAX, fits
from barnabas.coordinator.group.share import records
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.leave import leave
from barnabas.coordinator.group.share.member import JOIN_EPOCH, LEAVE_EPOCH, ShareMember
from barnabas.coordinator.group.share.sessions import keep_session
from barnabas.coordinator.group.share.state_topics import begin_initializing
from barnabas.coordinator.group.share.subscriptions import subscribed_names, update_epoch
from barnabas.coordinator.group.share.target import assign, due_in_ms
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import (
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InvalidRequest,
    UnknownMemberId,
)
from barnabas.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

_RETURN_MS_MIN: Final = 100
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)


class HeartbeatOutcome(NamedTuple):
    response: ShareGroupHeartbeatResponse
    to_initialize: Partitions = NO_PARTITIONS
    """Partitions that need a state of this state epoch."""
    state_epoch: int = 0


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    if not request.member_id:
        raise InvalidRequest("MemberId can't be empty.")
    if not request.group_id:
        raise InvalidRequest("GroupId can't be empty.")
    if request.rack_id == "":
        raise InvalidRequest("RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        raise InvalidRequest("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVE_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    texts = (request.member_id, request.rack_id, *(request.subscribed_topic_names or ()))
    if not all(fits(text) for text in texts):
        raise InvalidRequest(f"a name has more than {TEXT_BYTES_MAX} bytes")


def decide_share_heartbeat(
    store: GroupStore, request: ShareGroupHeartbeatRequest, client: ClientInfo, now: Now
) -> Decision[HeartbeatOutcome]:
    if request.member_epoch == LEAVE_EPOCH:
        return _decide_leave(store, request)
    joins = request.member_epoch == JOIN_EPOCH
    group = _group(store, request.group_id, joins)
    size_max = store.settings.share_group_size_max
    if len(group.members) >= size_max and request.member_id not in group.members:
        raise GroupMaxSizeReached(f"The share group has reached its maximum capacity of {size_max} members.")
    before = _member(group, request, joins)
    names = request.subscribed_topic_names
    member = replace(
        before,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        subscribed_topic_names=before.subscribed_topic_names if names is None else frozenset(names),
        client=client,
    )
    decision: Decision[HeartbeatOutcome] = Decision(HeartbeatOutcome(ShareGroupHeartbeatResponse()))
    if member != before:
        decision.records.append(records.member_metadata(group.group_id, member))
    changed = member.subscribed_topic_names != before.subscribed_topic_names
    subscribed = subscribed_names(group, before, member)
    epoch, bumped = update_epoch(store, group, subscribed, changed, decision)
    to_initialize = begin_initializing(store, group, subscribed, now, decision)
    target_epoch, target = group.target_epoch, group.target_of(member.member_id)
    if not to_initialize and target_epoch < epoch and due_in_ms(store, group, now) == 0:
        target_epoch, target = epoch, assign(store, group, epoch, member, now, decision)
    after = _reconciled(store, member, target_epoch, target, changed or bumped)
    if after != member:
        decision.records.append(records.current_assignment(group.group_id, after))
    keep_session(store, group.group_id, after, now)
    tell_all = joins or names is not None or before.assigned != after.assigned
    response = ShareGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval=_interval_ms(store, group, now, is_pending=target_epoch < epoch) * _MILLISECOND,
        assignment=_assignment(after.assigned) if tell_all else None,
    )
    decision.response = HeartbeatOutcome(response, to_initialize, epoch)
    return decision


def _decide_leave(store: GroupStore, request: ShareGroupHeartbeatRequest) -> Decision[HeartbeatOutcome]:
    response = ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    decision = Decision(HeartbeatOutcome(response))
    leave(store, request.group_id, request.member_id, decision)
    return decision


def _group(store: GroupStore, group_id: str, joins: bool) -> ShareGroup:
    group = store.modern.get(group_id)
    if isinstance(group, ShareGroup):
        return group
    if group is not None or group_id in store.groups:
        raise GroupIdNotFound(f"Group {group_id} is not a share group.")
    if not joins:
        raise GroupIdNotFound(f"Share group {group_id} not found.")
    return ShareGroup(group_id)


def _member(group: ShareGroup, request: ShareGroupHeartbeatRequest, joins: bool) -> ShareMember:
    """The member before this request."""
    member = group.members.get(request.member_id)
    if member is None:
        if not joins:
            raise UnknownMemberId(f"Member {request.member_id} is not a member of group {group.group_id}.")
        return ShareMember(member_id=request.member_id)
    epoch = request.member_epoch
    if not joins and (
        epoch > member.member_epoch or (epoch < member.member_epoch and epoch != member.previous_member_epoch)
    ):
        raise FencedMemberEpoch(
            f"The share group member has member epoch {epoch}, the group coordinator knows {member.member_epoch}. "
            "The member must abandon all its partitions and rejoin."
        )
    return member


def _interval_ms(store: GroupStore, group: ShareGroup, now: Now, *, is_pending: bool) -> int:
    """A member that waits for the next assignment comes back when it is due. In Kafka it waits five seconds."""
    interval_ms = store.configs.share_heartbeat_interval_ms(group.group_id)
    if is_pending:
        return min(interval_ms, max(due_in_ms(store, group, now), _RETURN_MS_MIN))
    return interval_ms


def _reconciled(
    store: GroupStore, member: ShareMember, target_epoch: int, target: Partitions, changed: bool
) -> ShareMember:
    if member.is_reconciled_to(target_epoch) and not changed:
        return member
    wanted = store.catalog.topic_ids(member.subscribed_topic_names)
    assigned = {topic_id: indexes for topic_id, indexes in target.items() if topic_id in wanted}
    if member.is_reconciled_to(target_epoch):
        return replace(member, assigned=assigned)
    return replace(member, assigned=assigned, member_epoch=target_epoch, previous_member_epoch=member.member_epoch)


def _assignment(assigned: Partitions) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(indexes)))
            for topic_id, indexes in assigned.items()
        )
    )
