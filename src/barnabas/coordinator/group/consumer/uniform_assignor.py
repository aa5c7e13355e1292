"""`uniform`: members get the same number of partitions, and keep theirs as far as possible. The default.

If all members subscribe to the same topics, two passes are enough: each member keeps up to its share, and the rest goes
to those that have less. Otherwise see `uniform_mixed`.
"""

import uuid
from collections.abc import Mapping

from barnabas.coordinator.group.common.assignor import GroupSpec
from barnabas.coordinator.group.common.partitions import Partitions
from barnabas.coordinator.group.consumer.uniform_mixed import assign_mixed


def assign_uniform(spec: GroupSpec) -> Mapping[str, Partitions]:
    if not spec.members:
        return {}
    return _assign_alike(spec) if spec.is_homogeneous else assign_mixed(spec)


def _assign_alike(spec: GroupSpec) -> Mapping[str, Partitions]:
    topic_ids = next(iter(spec.members.values())).topic_ids
    counts = {topic_id: count for topic_id, count in spec.partition_counts.items() if topic_id in topic_ids}
    free = _unassigned(spec, counts)
    quota, extra = divmod(sum(counts.values()), len(spec.members))
    assigned: dict[str, Partitions] = {}
    shares: list[tuple[str, int]] = []
    for position, (member_id, member) in enumerate(spec.members.items()):
        share = quota + (extra > 0)
        kept, released, share = _keep(member.target, topic_ids, share)
        free += released
        takes_extra = extra > 0
        if share > 0 and takes_extra and len(spec.members) - position > extra:
            # It may keep an extra partition as long as not enough other members have one.
            share -= 1
            takes_extra = False
        if share > 0:
            shares.append((member_id, share))
        extra -= takes_extra
        assigned[member_id] = kept
    start = 0
    for member_id, share in shares:
        assigned[member_id] = _with(assigned[member_id], free[start : start + share])
        start += share
    assert start >= len(free), "every partition has an owner"
    return assigned


def _unassigned(spec: GroupSpec, counts: Mapping[uuid.UUID, int]) -> list[tuple[uuid.UUID, int]]:
    owned: dict[uuid.UUID, set[int]] = {topic_id: set() for topic_id in counts}
    for member in spec.members.values():
        for topic_id, partitions in member.target.items():
            if topic_id in owned:
                owned[topic_id] |= partitions
    return [
        (topic_id, partition)
        for topic_id, count in counts.items()
        if len(owned[topic_id]) < count
        for partition in range(count)
        if partition not in owned[topic_id]
    ]


def _keep(
    target: Partitions, topic_ids: frozenset[uuid.UUID], share: int
) -> tuple[Partitions, list[tuple[uuid.UUID, int]], int]:
    """The kept part of a target, the freed partitions, and the open share. The same object if all are kept."""
    kept: dict[uuid.UUID, frozenset[int]] = {}
    released: list[tuple[uuid.UUID, int]] = []
    for topic_id, partitions in target.items():
        if topic_id not in topic_ids:
            continue
        if len(partitions) > share:
            ordered = sorted(partitions)
            released += [(topic_id, partition) for partition in ordered[share:]]
            partitions = frozenset(ordered[:share])
        if partitions:
            kept[topic_id] = partitions
        share -= len(partitions)
    return target if kept == target else kept, released, share


def _with(target: Partitions, more: list[tuple[uuid.UUID, int]]) -> Partitions:
    if not more:
        return target
    added: dict[uuid.UUID, set[int]] = {}
    for topic_id, partition in more:
        added.setdefault(topic_id, set()).add(partition)
    return {**target, **{topic_id: target.get(topic_id, frozenset()) | new for topic_id, new in added.items()}}
