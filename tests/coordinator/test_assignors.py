"""The server-side assignors: complete, balanced, sticky, and equal to Kafka's."""

import uuid
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.group.common.assignor import Assignor, GroupSpec, MemberSpec
from barnabas.coordinator.group.common.partitions import Partitions
from barnabas.coordinator.group.consumer.range_assignor import assign_range
from barnabas.coordinator.group.consumer.uniform_assignor import assign_uniform

TOPICS = [uuid.UUID(int=number) for number in range(1, 6)]
A, B, C = TOPICS[:3]


def spec(
    counts: Mapping[uuid.UUID, int],
    subscriptions: Mapping[str, frozenset[uuid.UUID]],
    targets: Mapping[str, Partitions] | None = None,
    instances: Mapping[str, str] | None = None,
) -> GroupSpec:
    return GroupSpec(
        members={
            member: MemberSpec(topics, (targets or {}).get(member, {}), (instances or {}).get(member))
            for member, topics in subscriptions.items()
        },
        is_homogeneous=len(set(subscriptions.values())) <= 1,
        partition_counts={topic: counts[topic] for topics in subscriptions.values() for topic in topics},
    )


def sizes(assigned: Mapping[str, Partitions]) -> dict[str, int]:
    return {member: sum(map(len, partitions.values())) for member, partitions in assigned.items()}


def flat(partitions: Partitions) -> set[tuple[uuid.UUID, int]]:
    return {(topic, partition) for topic, indexes in partitions.items() for partition in indexes}


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[uuid.UUID, int], dict[str, frozenset[uuid.UUID]]]:
    counts = {topic: draw(st.integers(1, 12)) for topic in TOPICS}
    alike = draw(st.booleans())
    common = draw(st.frozensets(st.sampled_from(TOPICS)))
    members = [f"m{number}" for number in range(draw(st.integers(1, 7)))]
    return counts, {member: common if alike else draw(st.frozensets(st.sampled_from(TOPICS))) for member in members}


def check_complete(given_spec: GroupSpec, assigned: Mapping[str, Partitions]) -> None:
    owners: dict[tuple[uuid.UUID, int], str] = {}
    for member, partitions in assigned.items():
        for place in flat(partitions):
            assert place not in owners, "nobody shares a partition"
            owners[place] = member
            assert place[0] in given_spec.members[member].topic_ids
    everything = {(topic, index) for topic, count in given_spec.partition_counts.items() for index in range(count)}
    assert set(owners) == everything


@pytest.mark.parametrize("assign", [assign_uniform, assign_range])
@given(groups())
def test_every_partition_has_one_owner_that_subscribes(
    assign: Assignor, group: tuple[dict[uuid.UUID, int], dict[str, frozenset[uuid.UUID]]]
) -> None:
    given_spec = spec(*group)
    check_complete(given_spec, assign(given_spec))


@given(groups(), groups())
def test_uniform_stays_complete_and_balanced_over_changes(
    before: tuple[dict[uuid.UUID, int], dict[str, frozenset[uuid.UUID]]],
    after: tuple[dict[uuid.UUID, int], dict[str, frozenset[uuid.UUID]]],
) -> None:
    counts = {topic: max(before[0][topic], after[0][topic]) for topic in TOPICS}
    first = assign_uniform(spec(*before))
    second_spec = spec(counts, after[1], first)
    second = assign_uniform(second_spec)
    check_complete(second_spec, second)
    if second_spec.is_homogeneous:
        assert max(sizes(second).values()) - min(sizes(second).values()) <= 1
    third = assign_uniform(spec(counts, after[1], second))
    assert third == second, "nothing changes where nothing has changed"


@given(groups())
def test_uniform_moves_only_what_balance_asks_for(
    group: tuple[dict[uuid.UUID, int], dict[str, frozenset[uuid.UUID]]],
) -> None:
    counts, subscriptions = group
    first = assign_uniform(spec(counts, subscriptions))
    if len(set(subscriptions.values())) > 1:
        return
    joined = {**subscriptions, "new": next(iter(subscriptions.values()))}
    second = assign_uniform(spec(counts, joined, first))
    for member in subscriptions:
        assert flat(second[member]) <= flat(first[member]), "who was there only gives"
    least = sum(counts[topic] for topic in joined["new"]) // len(joined)
    assert sizes(second)["new"] in (least, least + 1)


@given(groups())
def test_mixed_subscriptions_are_as_even_as_one_move_can_tell(
    group: tuple[dict[uuid.UUID, int], dict[str, frozenset[uuid.UUID]]],
) -> None:
    """No partition could move to another subscriber with at least two fewer."""
    given_spec = spec(*group)
    assigned = assign_uniform(given_spec)
    load = sizes(assigned)
    for owner, partitions in assigned.items():
        for topic in partitions:
            for other, member in given_spec.members.items():
                if topic in member.topic_ids:
                    assert load[owner] - load.get(other, 0) <= 1


def test_range_runs_in_the_order_of_members_static_ones_first() -> None:
    everybody = frozenset({A, B})
    given_spec = spec({A: 5, B: 3}, {"b": everybody, "a": everybody, "z": everybody}, instances={"z": "instance"})
    assert assign_range(given_spec) == {
        "z": {A: frozenset({0, 1}), B: frozenset({0})},
        "a": {A: frozenset({2, 3}), B: frozenset({1})},
        "b": {A: frozenset({4}), B: frozenset({2})},
    }


def test_range_leaves_the_last_without() -> None:
    one = frozenset({A})
    assert assign_range(spec({A: 2}, {"a": one, "b": one, "c": one})) == {
        "a": {A: frozenset({0})},
        "b": {A: frozenset({1})},
        "c": {},
    }


def test_uniform_as_kafka_does_it() -> None:
    """Kafka's own example: two members, then a third, which gets the surplus of the others."""
    both = frozenset({A, B})
    first = assign_uniform(spec({A: 3, B: 3}, {"1": both, "2": both}))
    assert sizes(first) == {"1": 3, "2": 3}
    second = assign_uniform(spec({A: 3, B: 3}, {"1": both, "2": both, "3": both}, first))
    assert sizes(second) == {"1": 2, "2": 2, "3": 2}
    third = assign_uniform(spec({A: 3, B: 3}, {"1": both, "3": both}, {"1": second["1"], "3": second["3"]}))
    assert sizes(third) == {"1": 3, "3": 3}
    assert flat(second["1"]) < flat(third["1"])


def test_uniform_forgets_topics_no_longer_subscribed_to() -> None:
    first = {"1": {A: frozenset({0, 1}), C: frozenset({0})}}
    assert assign_uniform(spec({A: 2}, {"1": frozenset({A})}, first)) == {"1": {A: frozenset({0, 1})}}


def test_large_groups() -> None:
    topics = [uuid.UUID(int=number) for number in range(1, 101)]
    counts = dict.fromkeys(topics, 100)
    everything = frozenset(topics)
    members = {f"m{number}": everything for number in range(200)}
    given_spec = spec(counts, members)
    first = assign_uniform(given_spec)
    assert set(sizes(first).values()) == {50}
    mixed = {**members, **{f"n{number}": frozenset(topics[:10]) for number in range(50)}}
    second_spec = spec(counts, mixed, first)
    check_complete(second_spec, assign_uniform(second_spec))
