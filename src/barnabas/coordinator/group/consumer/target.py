"""The target assignment: computed when it is older than the group epoch, at once or, for large groups, in a worker.

Not more often than the assignment interval allows: while many members join one after another, there are many group
epochs but few assignments. Meanwhile heartbeats are answered with the current assignment.
"""

import uuid
from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.common.assignor import Assignor, GroupSpec, MemberSpec
from barnabas.coordinator.group.common.job import Job
from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import ConsumerMember
from barnabas.coordinator.group.consumer.range_assignor import assign_range
from barnabas.coordinator.group.consumer.uniform_assignor import assign_uniform
from barnabas.coordinator.group.store import GroupStore

ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}

SIZE_AT_ONCE_MAX: Final = 4_000
"""The size (`GroupSpec.size`) up to which an assignment is computed on the event loop: about 5 ms with its records.

Members of larger groups get their assignment with a later heartbeat.
"""


class Target(NamedTuple):
    epoch: int
    partitions: Partitions


def update_target(
    store: GroupStore,
    group: ConsumerGroup,
    group_epoch: int,
    before: ConsumerMember,
    member: ConsumerMember,
    now: Now,
    decision: Decision[Any],
) -> Target:
    """The target of `member`, which replaces `before`, or a static member with another id."""
    current = Target(group.target_epoch, group.target_of(_target_holder(group, member)))
    if group.target_epoch >= group_epoch or not _is_due(store, group, now) or _key(group.group_id) in store.jobs:
        return current
    spec = group_spec(store, group, member)
    name = group.preferred_assignor(before, member) or store.settings.consumer_assignors[0]
    if spec.size > SIZE_AT_ONCE_MAX:
        decision.sends.append(_computed_later(group.group_id, group_epoch, spec, name))
        return current
    targets = ASSIGNORS[name](spec)
    decision.records += target_records(group, spec.members, targets, group_epoch, now)
    return Target(group_epoch, targets.get(member.member_id, NO_PARTITIONS))


def _target_holder(group: ConsumerGroup, member: ConsumerMember) -> str:
    """A static member that is back under a new id has the target of its old id."""
    return group.static_members.get(member.instance_id or "", member.member_id)


def _is_due(store: GroupStore, group: ConsumerGroup, now: Now) -> bool:
    interval_ms = store.configs.consumer_assignment_interval_ms(group.group_id)
    return group.target_timestamp_ms == 0 or now.wall_ms >= group.target_timestamp_ms + interval_ms


def group_spec(store: GroupStore, group: ConsumerGroup, member: ConsumerMember) -> GroupSpec:
    members = dict(group.members)
    replaced = _target_holder(group, member)
    if replaced != member.member_id:
        members.pop(replaced, None)
    members[member.member_id] = member
    ids_of: dict[frozenset[str], frozenset[uuid.UUID]] = {}
    specs: dict[str, MemberSpec] = {}
    for member_id, each in members.items():
        topics = group.topics_of(each)
        if topics not in ids_of:
            ids_of[topics] = store.catalog.topic_ids(topics)
        holder = replaced if member_id == member.member_id else member_id
        specs[member_id] = MemberSpec(ids_of[topics], group.target_of(holder), each.instance_id, each.rack_id)
    by_id = store.catalog.topics.by_id
    return GroupSpec(
        members=specs,
        is_homogeneous=len(set(ids_of.values())) <= 1,
        partition_counts={
            topic_id: len(by_id[topic_id].partitions) for topic_ids in ids_of.values() for topic_id in topic_ids
        },
    )


def target_records(
    group: ConsumerGroup,
    members: Mapping[str, MemberSpec],
    targets: Mapping[str, Partitions],
    epoch: int,
    now: Now,
) -> list[Any]:
    """Records for members whose target has changed, and for new members with an empty one."""
    changed: list[Any] = []
    for member_id in members:
        target = targets.get(member_id, NO_PARTITIONS)
        if group.targets.get(member_id) != target:
            changed.append(records.target(group.group_id, member_id, target))
    return [*changed, records.target_epoch(group.group_id, epoch, now.wall_ms)]


def _key(group_id: str) -> Hashable:
    return ("assignment", group_id)


def _computed_later(group_id: str, epoch: int, spec: GroupSpec, name: str) -> Job:
    def then(store: GroupStore, targets: Mapping[str, Partitions], now: Now) -> Decision[None]:
        # If records are lost, the stored target epoch stays older, so the assignment is computed again.
        done: Decision[None] = Decision(None, atomic=False)
        group = store.modern.get(group_id)
        if isinstance(group, ConsumerGroup) and group.target_epoch < epoch:
            # Members that left meanwhile are skipped; those that joined get their share with the next assignment. An
            # out-of-date target is better than none: a group that changes all the time would never have one.
            members = {member_id: member for member_id, member in spec.members.items() if member_id in group.members}
            done.records += target_records(group, members, targets, epoch, now)
        return done

    return Job(_key(group_id), lambda: ASSIGNORS[name](spec), then)
