from group_core import SESSION_MS, Core, name_of

from barnabas.coordinator.group.classic.join import MemberIdAssigned
from barnabas.wire.errors import CoordinatorNotAvailable


def codes(core: Core, *members: str) -> list[str]:
    return [name_of(error) for error in core.leave(*members).response]


def test_the_others_join_again() -> None:
    core = Core()
    leader, follower = core.stable(2)
    assert codes(core, leader) == ["none"]
    assert core.state() == "PreparingRebalance"
    assert core.join(member=follower).response.leader == follower


def test_the_last_one_leaves_an_empty_group() -> None:
    core = Core()
    members = core.stable(2)
    assert codes(core, *members, "nobody") == ["none", "none", "unknown_member_id"]
    assert core.state() == "Empty"
    stored = core.shard.stored_groups["g"]
    assert (stored.generation, stored.members, stored.protocol, stored.leader) == (2, (), None, None)
    assert stored.protocol_type == "consumer"
    assert stored.current_state_timestamp == core.now.wall_ms


def test_a_leave_is_answered_when_it_is_stored() -> None:
    core = Core()
    [leader] = core.stable()
    core.refuse = CoordinatorNotAvailable()
    assert core.leave(leader).error == "CoordinatorNotAvailable"
    assert core.state() == "Empty", "it is gone all the same"


def test_a_pending_member_leaves_without_a_rebalance() -> None:
    core = Core()
    core.stable()
    refused = core.join()
    assert isinstance(refused.outcome, MemberIdAssigned)
    assert codes(core, refused.outcome.member_id) == ["none"]
    assert core.state() == "Stable"


def test_nobody_waits_for_a_pending_member_that_left() -> None:
    core = Core()
    [leader] = core.stable()
    refused = core.join()
    rejoined = core.join(member=leader)
    assert rejoined.is_waiting
    assert isinstance(refused.outcome, MemberIdAssigned)
    core.leave(refused.outcome.member_id)
    assert rejoined.response.generation_id == 2


def test_unknown_groups_have_no_members() -> None:
    assert codes(Core(), "a", "b") == ["unknown_member_id", "unknown_member_id"]


def test_a_parked_sync_of_a_leaving_member_is_answered() -> None:
    core = Core()
    first, _ = core.join_with_id()
    second, _ = core.join_with_id()
    core.advance(2 * core.initial_delay_ms)
    leader = core.shard.groups["g"].leader_id
    follower = second if leader == first else first
    waiting = core.sync(follower, 1)
    core.leave(follower)
    assert waiting.error == "UnknownMemberId"


def test_a_member_not_heard_of_is_removed() -> None:
    core = Core()
    leader, follower = core.stable(2)
    core.advance(SESSION_MS - 1)
    assert core.heartbeat(leader, 1) == ""
    assert core.state() == "Stable"
    core.advance(1)
    assert core.state() == "PreparingRebalance"
    assert list(core.shard.groups["g"].members) == [leader]
    assert core.heartbeat(follower, 1) == "UnknownMemberId"
    core.advance(SESSION_MS)
    assert core.state() == "Empty"


def test_heartbeats_keep_a_member_for_days() -> None:
    core = Core()
    [leader] = core.stable()
    for _ in range(3 * 24 * 60 * 60_000 // (SESSION_MS - 1) // 100):
        core.advance(SESSION_MS - 1)
        assert core.heartbeat(leader, 1) == ""
    assert core.state() == "Stable"
    assert len(core.shard.timers) == 2, "its session and the clean-up"


def test_what_a_heartbeat_has_to_say() -> None:
    core = Core()
    assert core.heartbeat("nobody", 1) == "UnknownMemberId"
    leader, _ = core.stable(2)
    assert core.heartbeat(leader, 0) == "IllegalGeneration"
    assert core.heartbeat("nobody", 1) == "UnknownMemberId"
    assert core.heartbeat(leader, 1, instance="i") == "UnknownMemberId"
    core.join(member=leader)
    assert core.heartbeat(leader, 1) == "RebalanceInProgress"


def test_after_a_restart_members_have_a_session_to_be_heard_of() -> None:
    core = Core()
    leader, follower = core.stable(2)
    other = core.reloaded()
    assert other.state() == "Stable"
    assert other.shard.groups["g"].leader_id == leader
    assert other.sync(follower, 1).response.assignment == follower.encode()
    other.advance(SESSION_MS - 1)
    assert other.heartbeat(leader, 1) == ""
    other.advance(1)
    assert list(other.shard.groups["g"].members) == [leader]


def test_a_moved_coordinator_sends_everybody_away() -> None:
    core = Core()
    leader, follower = core.stable(2)
    parked = core.join(member=leader)
    for release in core.shard.on_unloaded():
        core.parked.pop(release.parked).outcome = release.outcome
    assert parked.error == "NotCoordinator"
    assert core.shard.groups == {}
    assert core.heartbeat(follower, 1) == "UnknownMemberId"
