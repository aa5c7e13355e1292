import pytest
from group_core import REBALANCE_MS, SESSION_MS, Core

from barnabas.wire.errors import CoordinatorNotAvailable


def completing(core: Core, size: int = 2) -> list[str]:
    """Members of a group that has joined, the leader first."""
    members = [core.join_with_id()[0] for _ in range(size)]
    core.advance(2 * core.initial_delay_ms)
    assert core.state() == "CompletingRebalance"
    leader = core.shard.groups["g"].leader_id
    return sorted(members, key=lambda member: member != leader)


def test_followers_wait_for_the_leader() -> None:
    core = Core()
    leader, follower = completing(core)
    waiting = core.sync(follower, 1)
    assert waiting.is_waiting
    answer = core.sync(leader, 1, {leader: b"1", follower: b"2", "stranger": b"3"})
    assert (answer.response.assignment, waiting.response.assignment) == (b"1", b"2")
    assert waiting.response.protocol_type == "consumer"
    assert waiting.response.protocol_name == "range"
    assert core.state() == "Stable"
    stored = core.shard.stored_groups["g"]
    assert {each.member_id: each.assignment for each in stored.members} == {leader: b"1", follower: b"2"}


def test_a_late_follower_gets_its_assignment_at_once() -> None:
    core = Core()
    leader, follower = completing(core)
    core.sync(leader, 1, {follower: b"2"})
    assert core.state() == "Stable"
    assert core.sync(follower, 1).response.assignment == b"2"
    assert core.sync(leader, 1).response.assignment == b"", "a member without an assignment gets an empty one"


def test_nobody_learns_an_assignment_before_it_is_stored() -> None:
    core = Core()
    leader, follower = completing(core)
    core.hold = True
    waiting, answer = core.sync(follower, 1), core.sync(leader, 1, {follower: b"2"})
    assert waiting.is_waiting
    assert answer.is_waiting
    assert core.state() == "CompletingRebalance"
    core.commit_held()
    assert waiting.response.assignment == b"2"


@pytest.mark.parametrize("late", [False, True])
def test_an_assignment_that_cannot_be_stored_is_a_rebalance(late: bool) -> None:
    core = Core()
    leader, follower = completing(core)
    waiting = core.sync(follower, 1)
    if late:
        core.hold = True
        answer = core.sync(leader, 1, {follower: b"2"})
        core.fail_held(CoordinatorNotAvailable())
    else:
        core.refuse = CoordinatorNotAvailable()
        answer = core.sync(leader, 1, {follower: b"2"})
    assert answer.error == waiting.error == "CoordinatorNotAvailable"
    assert core.state() == "PreparingRebalance"
    core.refuse = None
    core.join(member=leader)
    assert core.join(member=follower).response.generation_id == 2


def test_a_member_that_joins_while_the_assignment_is_stored_makes_it_history() -> None:
    core = Core()
    leader, follower = completing(core)
    core.hold = True
    answer = core.sync(leader, 1, {follower: b"2"})
    core.join_with_id()
    assert answer.error == "RebalanceInProgress"
    core.commit_held()
    assert core.state() == "PreparingRebalance"


def test_a_leader_that_repeats_itself_is_answered_once_stored() -> None:
    core = Core()
    leader, _ = completing(core)
    core.hold = True
    first = core.sync(leader, 1, {leader: b"1"})
    second = core.sync(leader, 1, {leader: b"1"})
    assert first.error == "RebalanceInProgress"
    core.commit_held()
    assert second.response.assignment == b"1"
    assert core.state() == "Stable"


def test_members_that_never_ask_for_their_assignment_are_removed() -> None:
    core = Core()
    leader, follower = completing(core)
    answer = core.sync(leader, 1, {leader: b"1"})
    assert answer.response
    for _ in range(REBALANCE_MS // (SESSION_MS // 2)):
        core.advance(SESSION_MS // 2)
        core.heartbeat(leader, 1)
        core.heartbeat(follower, 1)
    assert core.state() == "PreparingRebalance"
    assert list(core.shard.groups["g"].members) == [leader]


def test_a_leader_that_never_assigns_is_replaced() -> None:
    core = Core()
    leader, follower = completing(core)
    waiting = core.sync(follower, 1)
    for _ in range(REBALANCE_MS // (SESSION_MS // 2)):
        core.advance(SESSION_MS // 2)
        core.heartbeat(leader, 1)
    assert waiting.error == "RebalanceInProgress"
    assert core.join(member=follower).response.leader == follower


def test_what_a_sync_has_to_say() -> None:
    core = Core()
    assert core.sync("nobody", 1).error == "UnknownMemberId"
    leader, _ = completing(core)
    assert core.sync("nobody", 1).error == "UnknownMemberId"
    assert core.sync(leader, 0).error == "IllegalGeneration"
    assert core.sync(leader, 1, instance="i").error == "UnknownMemberId"
    assert core.sync(leader, 1, protocol_type="connect", protocol="range").error == "InconsistentGroupProtocol"
    assert core.sync(leader, 1, protocol_type="consumer", protocol="other").error == "InconsistentGroupProtocol"
    core.join_with_id()
    assert core.sync(leader, 1).error == "RebalanceInProgress"


def test_an_empty_group_has_nobody_to_sync() -> None:
    core = Core()
    [leader] = core.stable()
    core.leave(leader)
    assert core.state() == "Empty"
    assert core.sync(leader, 1).error == "UnknownMemberId"
    assert core.heartbeat(leader, 1) == "UnknownMemberId"
