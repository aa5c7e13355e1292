"""ShareGroupHeartbeat: the request with which members of a share group join, stay alive, change and leave.

    epoch 0    joins, or joins again after it was fenced
    epoch > 0  is alive in that epoch; may send a changed subscription
    epoch -1   leaves

A partition is assigned only once the share coordinator has a state of it. If the group subscribes to partitions without
a state, the decision lists them (`to_initialize`), and the assignment is computed when they have one.
"""

import datetime
from dataclasses import replace
from typing import Any, Final, NamedTuple

from barnabas.coordinator.decision import Decision, Now
from barnabas.coordinator.group.member import ClientInfo
from barnabas.coordinator.group.modern.assignor import GroupSpec, MemberSpec
from barnabas.coordinator.group.modern.group import add_counts
from barnabas.coordinator.group.modern.partitions import NO_PARTITIONS, Partitions
from barnabas.coordinator.group.share import records
from barnabas.coordinator.group.share.group import JOIN_EPOCH, LEAVE_EPOCH, ShareGroup, ShareMember
from barnabas.coordinator.group.share.replay import known_group
from barnabas.coordinator.group.share.simple_assignor import assign_simple
from barnabas.coordinator.group.share.state_topics import begin_initializing, is_assignment_pending
from barnabas.coordinator.group.store import GroupStore
from barnabas.coordinator.group.stored import TEXT_BYTES_MAX, fits
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

SESSION: Final = "share-session"
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
    subscribed = _subscribed(group, before, member)
    epoch, bumped = _update_epoch(store, group, subscribed, changed, decision)
    to_initialize = begin_initializing(store, group, subscribed, now, decision)
    target_epoch, target = group.target_epoch, group.target_of(member.member_id)
    if not to_initialize and target_epoch < epoch and _due_in_ms(store, group, now) == 0:
        target_epoch, target = epoch, _assign(store, group, epoch, member, now, decision)
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


def _subscribed(group: ShareGroup, before: ShareMember, after: ShareMember | None) -> frozenset[str]:
    """The subscribed topics of all members, with the new member in place of the old."""
    counts = dict(group.names_subscribed)
    if before.member_id in group.members:
        add_counts(counts, before.subscribed_topic_names, -1)
    if after is not None:
        add_counts(counts, after.subscribed_topic_names, 1)
    return frozenset(counts)


def _update_epoch(
    store: GroupStore, group: ShareGroup, subscribed: frozenset[str], changed: bool, decision: Decision[Any]
) -> tuple[int, bool]:
    """The group epoch grows with a changed subscription, changed topics, and newly initialised partitions."""
    catalog = store.catalog
    bumps = changed or (group.target_epoch >= group.group_epoch and is_assignment_pending(store, group))
    if not bumps and not group.needs_topic_check(catalog.version):
        return group.group_epoch, False
    topics_hash = catalog.hash_of(subscribed)
    bumps = bumps or topics_hash != group.metadata_hash
    epoch = group.group_epoch + 1 if bumps else group.group_epoch
    if bumps:
        decision.records.append(records.group_epoch(group.group_id, epoch, topics_hash))
    group.topics_checked(catalog.version, epoch)
    return epoch, bumps


def _due_in_ms(store: GroupStore, group: ShareGroup, now: Now) -> int:
    """When the next assignment may be computed: the assignment interval after the last."""
    if group.target_timestamp_ms == 0:
        return 0
    interval_ms = store.configs.share_assignment_interval_ms(group.group_id)
    return min(max(group.target_timestamp_ms + interval_ms - now.wall_ms, 0), interval_ms)


def _interval_ms(store: GroupStore, group: ShareGroup, now: Now, *, is_pending: bool) -> int:
    """A member that waits for the next assignment comes back when it is due. In Kafka it waits five seconds."""
    interval_ms = store.configs.share_heartbeat_interval_ms(group.group_id)
    if is_pending:
        return min(interval_ms, max(_due_in_ms(store, group, now), _RETURN_MS_MIN))
    return interval_ms


def _assign(
    store: GroupStore, group: ShareGroup, epoch: int, member: ShareMember, now: Now, decision: Decision[Any]
) -> Partitions:
    members = {**group.members, member.member_id: member}
    catalog = store.catalog
    specs = {
        member_id: MemberSpec(catalog.topic_ids(each.subscribed_topic_names), group.target_of(member_id))
        for member_id, each in members.items()
    }
    by_id = catalog.topics.by_id
    subscribed = frozenset(topic_id for spec in specs.values() for topic_id in spec.topic_ids)
    spec = GroupSpec(
        members=specs,
        is_homogeneous=len({spec.topic_ids for spec in specs.values()}) <= 1,
        partition_counts={topic_id: len(by_id[topic_id].partitions) for topic_id in subscribed},
    )
    targets = assign_simple(spec, group.state_topics.initialized)
    for member_id, partitions in targets.items():
        if group.targets.get(member_id) != partitions:
            decision.records.append(records.target(group.group_id, member_id, partitions))
    decision.records.append(records.target_epoch(group.group_id, epoch, now.wall_ms))
    return targets.get(member.member_id, NO_PARTITIONS)


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


# --- members that leave


def keep_session(store: GroupStore, group_id: str, member: ShareMember, now: Now) -> None:
    timeout_ms = store.configs.share_session_timeout_ms(group_id)
    store.timers.set((SESSION, group_id, member.member_id), now.monotonic_ms + timeout_ms)


def on_session_timeout(store: GroupStore, group_id: str, member_id: str) -> Decision[None]:
    decision: Decision[None] = Decision(None)
    group = known_group(store, group_id)
    member = None if group is None else group.members.get(member_id)
    if group is not None and member is not None:
        _remove(store, group, member, decision)
    return decision


def _decide_leave(store: GroupStore, request: ShareGroupHeartbeatRequest) -> Decision[HeartbeatOutcome]:
    group = known_group(store, request.group_id)
    if group is None:
        is_other = request.group_id in store.modern or request.group_id in store.groups
        raise GroupIdNotFound(
            f"Group {request.group_id} is not a share group." if is_other else f"Group {request.group_id} not found."
        )
    response = ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    decision = Decision(HeartbeatOutcome(response))
    _remove(store, group, group.member(request.member_id), decision)
    return decision


def _remove(store: GroupStore, group: ShareGroup, member: ShareMember, decision: Decision[Any]) -> None:
    decision.records += records.member_removal(group.group_id, member.member_id)
    topics_hash = store.catalog.hash_of(_subscribed(group, member, None))
    decision.records.append(records.group_epoch(group.group_id, group.group_epoch + 1, topics_hash))
    store.timers.cancel((SESSION, group.group_id, member.member_id))
