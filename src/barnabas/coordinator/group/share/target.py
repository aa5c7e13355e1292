"""The target assignment of a share group: when it is computed, and how it is stored."""

from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.common.assignor import GroupSpec, MemberSpec
from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions
from barnabas.coordinator.group.share import records
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.share.simple_assignor import assign_simple
from barnabas.coordinator.group.store import GroupStore


def due_in_ms(store: GroupStore, group: ShareGroup, now: Now) -> int:
    """When the next assignment may be computed: the assignment interval after the last."""
    if group.target_timestamp_ms == 0:
        return 0
    interval_ms = store.configs.share_assignment_interval_ms(group.group_id)
    return min(max(group.target_timestamp_ms + interval_ms - now.wall_ms, 0), interval_ms)


def assign(
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
