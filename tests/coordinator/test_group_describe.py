import pytest
from group_core import Core, name_of, subscription

from barnabas.coordinator.core.key_hash import java_hash
from barnabas.coordinator.group.admin import decide_delete_groups, list_groups
from barnabas.coordinator.group.classic.describe import describe_classic_group
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.wire.errors import GroupIdNotFound


def test_a_stable_group_is_described_with_what_its_members_offered_and_got() -> None:
    core = Core()
    leader, follower = core.stable(2)
    group = describe_classic_group(core.shard, "g")
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    assert {each.member_id: each.member_assignment for each in group.members} == {
        leader: leader.encode(),
        follower: follower.encode(),
    }
    assert {each.member_metadata for each in group.members} == {subscription("t")}
    assert {(each.client_id, each.client_host) for each in group.members} == {("client", "/127.0.0.1")}


def test_while_it_rebalances_nothing_is_agreed() -> None:
    core = Core()
    core.join_with_id()
    group = describe_classic_group(core.shard, "g")
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert group.members[0].member_metadata == b""


def test_a_group_that_is_not_there() -> None:
    with pytest.raises(GroupIdNotFound, match="Group g not found"):
        describe_classic_group(Core().shard, "g")


def test_listed_by_state_and_type() -> None:
    core = Core()
    core.stable()
    core.commit_offsets({("t", 0): 1}, group="simple")

    def listed(states: list[str], types: list[str]) -> set[str]:
        return {each.group_id for each in list_groups(core.shard, states, types)}

    assert listed([], []) == {"g", "simple"}
    assert listed(["stable"], []) == {"g"}
    assert listed(["Empty", "Dead"], ["classic"]) == {"simple"}
    assert listed([], ["CLASSIC", "consumer"]) == {"g", "simple"}
    assert listed([], ["consumer"]) == set()
    assert {(each.protocol_type, each.group_type) for each in list_groups(core.shard, [], [])} == {
        ("consumer", "classic"),
        ("", "classic"),
    }


def test_only_empty_groups_are_deleted_and_their_offsets_with_them() -> None:
    core = Core()
    [member] = core.stable()
    core.commit_offsets({("t", 0): 1}, member=member, generation=1)
    core.commit_offsets({("t", 0): 1}, group="simple")
    answer = core.decide(lambda shard, _: decide_delete_groups(shard, ["g", "simple", "other", "simple"]))
    assert [(group_id, name_of(error)) for group_id, error in answer.response.items()] == [
        ("g", "non_empty_group"),
        ("simple", "none"),
        ("other", "group_id_not_found"),
    ]
    core.leave(member)
    core.decide(lambda shard, _: decide_delete_groups(shard, ["g"]))
    assert core.state() == "none"
    assert core.shard.offsets == core.shard.stored_groups == core.reloaded().shard.groups == {}
    assert core.join(member=member).error == "UnknownMemberId"


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("group", 47),
        ("console-consumer-12345", 6),
        ("gü", 45),
        ("😀", 49),
        ("", 0),
        ("polygenelubricants", 0),
    ],
)
def test_groups_live_where_kafka_puts_them(group: str, partition: int) -> None:
    coordinator = GroupCoordinator.__new__(GroupCoordinator)
    coordinator.partition_count = 50
    assert coordinator.partition_for(group) == partition


def test_java_hashes() -> None:
    assert java_hash("polygenelubricants") == 0x8000_0000
    assert java_hash("group") == 98_629_247
