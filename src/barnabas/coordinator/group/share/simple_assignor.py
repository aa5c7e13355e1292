"""The assignor of share groups: every member gets partitions, and every partition gets as few members as possible.

With more members than partitions, several members share a partition: with M members and P partitions each partition
gets up to ceil(M / P). With fewer, each member gets several. Members keep their partitions as far as that is fair. If
members subscribe to different topics, this is done for each topic with its subscribers.
"""

import uuid
from collections import deque
from collections.abc import Mapping, Sequence

from barnabas.coordinator.group.common.assignor import GroupSpec
from barnabas.coordinator.group.common.partitions import Partitions

_Place = tuple[uuid.UUID, int]


def assign_simple(spec: GroupSpec, assignable: Partitions) -> dict[str, Partitions]:
    """`assignable`: the partitions with a state; only these are assigned."""
    topics = sorted(spec.partition_counts)
    places = {
        topic_id: [
            (topic_id, index)
            for index in range(spec.partition_counts[topic_id])
            if index in assignable.get(topic_id, frozenset())
        ]
        for topic_id in topics
    }
    old = {
        member_id: {(topic_id, index) for topic_id, indexes in member.target.items() for index in indexes}
        for member_id, member in spec.members.items()
    }
    assigned: dict[str, set[_Place]] = {member_id: set() for member_id in spec.members}
    if spec.is_homogeneous:
        rounds = [(list(spec.members), [place for topic_id in topics for place in places[topic_id]])]
    else:
        rounds = [
            (
                [member_id for member_id, member in spec.members.items() if topic_id in member.topic_ids],
                places[topic_id],
            )
            for topic_id in topics
        ]
    for members, to_assign in rounds:
        for member_id, shared in _spread(members, to_assign, old).items():
            assigned[member_id] |= shared
    return {member_id: _by_topic(shared) for member_id, shared in assigned.items()}


def _by_topic(places: set[_Place]) -> Partitions:
    by_topic: dict[uuid.UUID, set[int]] = {}
    for topic_id, index in sorted(places):
        by_topic.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in by_topic.items()}


def _spread(members: Sequence[str], places: Sequence[_Place], old: Mapping[str, set[_Place]]) -> dict[str, set[_Place]]:
    if not members or not places:
        return {}
    sharing = -(-len(members) // len(places))
    total = sharing * len(places)
    room = {
        member: -(-total * (turn + 1) // len(members)) + (-total * turn // len(members))
        for turn, member in enumerate(members)
    }
    assigned: dict[str, set[_Place]] = {member: set() for member in members}
    holders: dict[_Place, int] = dict.fromkeys(places, 0)
    for member in members:
        for place in sorted(old[member]):
            if place in holders and holders[place] < sharing and len(assigned[member]) < room[member]:
                assigned[member].add(place)
                holders[place] += 1
    unfilled = deque(member for member in members if len(assigned[member]) < room[member])
    for place in places:
        passed = 0
        while holders[place] < sharing and passed < len(unfilled):
            member = unfilled.popleft()
            if place in assigned[member]:
                unfilled.append(member)
                passed += 1
                continue
            assigned[member].add(place)
            holders[place] += 1
            if len(assigned[member]) < room[member]:
                unfilled.append(member)
    return assigned
