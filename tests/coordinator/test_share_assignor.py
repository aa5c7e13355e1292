"""The share groups' assignor: no idle member, no unassigned partition, and few moves."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.group.common.assignor import GroupSpec, MemberSpec
from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions
from barnabas.coordinator.group.share.simple_assignor import assign_simple

TOPICS = [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3)]


def assign(
    members: list[str], counts: dict[uuid.UUID, int], old: dict[str, Partitions] | None = None
) -> dict[str, Partitions]:
    known = old or {}
    spec = GroupSpec(
        members={each: MemberSpec(frozenset(counts), known.get(each, NO_PARTITIONS)) for each in members},
        is_homogeneous=True,
        partition_counts=counts,
    )
    return assign_simple(spec, {topic: frozenset(range(count)) for topic, count in counts.items()})


def sharers(assigned: dict[str, Partitions]) -> dict[tuple[uuid.UUID, int], int]:
    held: dict[tuple[uuid.UUID, int], int] = {}
    for partitions in assigned.values():
        for topic, indexes in partitions.items():
            for index in indexes:
                held[topic, index] = held.get((topic, index), 0) + 1
    return held


@given(
    counts=st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 5), min_size=1),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
)
def test_everybody_has_something_and_everything_somebody(counts: dict[uuid.UUID, int], sizes: list[int]) -> None:
    assigned: dict[str, Partitions] = {}
    for turn, size in enumerate(sizes):
        members = [f"member-{number}" for number in range(turn, turn + size)]
        assigned = assign(members, counts, assigned)
        total = sum(counts.values())
        sharing = -(-size // total)
        held = sharers(assigned)
        assert len(held) == total
        assert max(held.values()) <= sharing
        for partitions in assigned.values():
            assert 1 <= sum(map(len, partitions.values())) <= -(-sharing * total // size)
        assert assign(members, counts, assigned) == assigned, "what is fair stays"


def test_who_subscribes_to_other_topics_gets_those() -> None:
    first, second = TOPICS[:2]
    spec = GroupSpec(
        members={
            "a": MemberSpec(frozenset({first}), NO_PARTITIONS),
            "b": MemberSpec(frozenset({first, second}), NO_PARTITIONS),
        },
        is_homogeneous=False,
        partition_counts={first: 2, second: 2},
    )
    assigned = assign_simple(spec, {first: frozenset({0, 1}), second: frozenset({0, 1})})
    assert second not in assigned["a"]
    assert assigned["b"][second] == {0, 1}
    assert len(assigned["a"][first]) == len(assigned["b"][first]) == 1


def test_partitions_without_a_state_are_not_handed_out() -> None:
    spec = GroupSpec(
        members={"a": MemberSpec(frozenset(TOPICS[:1]), {TOPICS[0]: frozenset({0, 1})})},
        is_homogeneous=True,
        partition_counts={TOPICS[0]: 3},
    )
    assert assign_simple(spec, {TOPICS[0]: frozenset({1})}) == {"a": {TOPICS[0]: frozenset({1})}}
    assert assign_simple(spec, {}) == {"a": {}}
