"""`range`: each subscriber of a topic gets a contiguous range of its partitions, in the same order of members.

So topics with the same number of partitions and subscribers are assigned alike, as joins by key need it. Not sticky:
the assignment depends only on the member ids (for static members, which come first, on their instance ids).
"""

import uuid
from collections.abc import Mapping

from barnabas.coordinator.group.common.assignor import GroupSpec, MemberSpec
from barnabas.coordinator.group.common.partitions import Partitions
from barnabas.coordinator.group.common.topics import utf16_order


def assign_range(spec: GroupSpec) -> Mapping[str, Partitions]:
    assigned: dict[str, dict[uuid.UUID, frozenset[int]]] = {member_id: {} for member_id in spec.members}
    subscribers: dict[uuid.UUID, list[str]] = {}
    for member_id in sorted(spec.members, key=lambda member_id: _order(member_id, spec.members[member_id])):
        for topic_id in spec.members[member_id].topic_ids:
            subscribers.setdefault(topic_id, []).append(member_id)
    for topic_id, member_ids in subscribers.items():
        quota, extra = divmod(spec.partition_counts[topic_id], len(member_ids))
        start = 0
        for position, member_id in enumerate(member_ids):
            end = start + quota + (position < extra)
            if start < end:
                assigned[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return assigned


def _order(member_id: str, member: MemberSpec) -> tuple[bool, bytes]:
    is_dynamic = member.instance_id is None
    return is_dynamic, utf16_order(member_id if member.instance_id is None else member.instance_id)
