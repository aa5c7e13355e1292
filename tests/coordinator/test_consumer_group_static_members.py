"""Static members: the assignment belongs to the instance id, whichever member has it."""

import pytest
from consumer_core import ConsumerCore


@pytest.fixture
def core() -> ConsumerCore:
    return ConsumerCore(t=4)


def test_who_leaves_for_a_while_finds_its_partitions_again(core: ConsumerCore) -> None:
    core.enter("a", "t", instance_id="i")
    core.enter("b", "t")
    before = core.settled("a", "b")
    left = core.beat("a", -2, instance_id="i")
    assert (left.response.member_id, left.response.member_epoch) == ("a", -2)
    group = core.group()
    epochs = (group.group_epoch, group.target_epoch)
    core.beat("b", group.members["b"].member_epoch)
    back = core.enter("a2", "t", instance_id="i")
    assert core.assigned(back) == before["a"]
    assert back.response.member_epoch == group.target_epoch
    assert (group.group_epoch, group.target_epoch) == epochs, "nobody else has noticed"
    assert set(group.members) == {"a2", "b"}
    assert core.settled("a2", "b") == {"a2": before["a"], "b": before["b"]}


def test_it_must_come_back_within_its_session(core: ConsumerCore) -> None:
    core.enter("a", "t", instance_id="i")
    core.beat("a", -2, instance_id="i")
    core.advance(44_000)
    assert "a" in core.group().members
    core.advance(1_001)
    assert not core.group().members
    assert core.assigned(core.enter("a2", "t", instance_id="i")) == {"t": (0, 1, 2, 3)}


def test_an_instance_that_is_there_is_not_replaced(core: ConsumerCore) -> None:
    core.enter("a", "t", instance_id="i")
    assert core.enter("b", "t", instance_id="i").error == "UnreleasedInstanceId"
    assert core.enter("a", "t", instance_id="i").error == "UnreleasedInstanceId"


def test_the_replaced_one_is_fenced(core: ConsumerCore) -> None:
    core.enter("a", "t", instance_id="i")
    core.beat("a", -2, instance_id="i")
    core.enter("b", "t", instance_id="i")
    assert core.beat("a", 2, instance_id="i").error == "FencedInstanceId"
    assert core.beat("a", -1, instance_id="i").error == "FencedInstanceId"
    assert core.beat("a", 2).error == "UnknownMemberId"
    assert core.beat("x", 2, instance_id="other").error == "UnknownMemberId"


def test_it_can_leave_for_good(core: ConsumerCore) -> None:
    core.enter("a", "t", instance_id="i")
    core.beat("a", -1, instance_id="i")
    assert not core.group().members
    assert core.group().static_members == {}


def test_what_it_was_to_give_up_is_free_while_it_is_away(core: ConsumerCore) -> None:
    core.enter("a", "t", instance_id="i")
    core.enter("b", "t")
    core.beat("a", 2, owned={"t": (0, 1, 2, 3)})
    core.beat("a", -2, instance_id="i")
    assert core.assigned(core.beat("b", 3)) == {"t": (2, 3)}
    assert core.assigned(core.enter("a2", "t", instance_id="i")) == {"t": (0, 1)}


def test_a_subscription_may_change_with_the_return(core: ConsumerCore) -> None:
    core.topics.put(u=1)
    core.enter("a", "t", instance_id="i")
    core.beat("a", -2, instance_id="i")
    core.enter("b", "u", instance_id="i")
    assert core.settled("b") == {"b": {"u": (0,)}}
    assert set(core.group().targets) == {"b"}


def test_replacement_survives_a_reload(core: ConsumerCore) -> None:
    core.enter("a", "t", instance_id="i")
    core.beat("a", -2, instance_id="i")
    core.enter("b", "t", instance_id="i")
    other = core.reloaded()
    group = other.shard.modern["g"]
    assert set(group.members) == {"b"} == set(group.targets)
    assert group.members == core.group().members
