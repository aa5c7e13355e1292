import pytest
from group_core import REBALANCE_MS, SESSION_MS, Core, subscription

from barnabas.coordinator.group.classic.join import MemberIdAssigned
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.wire.errors import CoordinatorNotAvailable


def test_a_first_member_waits_for_others_then_leads() -> None:
    core = Core()
    member, answer = core.join_with_id()
    assert core.state() == "PreparingRebalance"
    core.advance(core.initial_delay_ms - 1)
    assert answer.is_waiting
    core.advance(1)
    response = answer.response
    assert response.generation_id == 1
    assert response.leader == response.member_id == member
    assert response.protocol_type == "consumer"
    assert response.protocol_name == "range"
    assert [each.member_id for each in response.members] == [member]
    assert core.state() == "CompletingRebalance"


def test_the_id_begins_with_the_client_id() -> None:
    refused = Core().join()
    assert isinstance(refused.outcome, MemberIdAssigned)
    assert refused.outcome.member_id.startswith("client-")


def test_old_versions_join_without_asking_for_an_id() -> None:
    core = Core()
    answer = core.join(version=3)
    core.advance(core.initial_delay_ms)
    assert answer.response.member_id


def test_version_0_has_one_timeout_for_both() -> None:
    core = Core()
    core.join(version=0, rebalance_ms=-1)
    [member] = core.shard.groups["g"].members.values()
    assert member.rebalance_timeout_ms == SESSION_MS


def test_the_initial_delay_is_extended_while_members_come_and_time_remains() -> None:
    core = Core()
    _, first = core.join_with_id()
    delay = core.initial_delay_ms
    core.advance(delay - 1)
    _, second = core.join_with_id()
    core.advance(delay)
    assert first.is_waiting
    assert second.is_waiting
    core.advance(delay)
    assert first.response.generation_id == second.response.generation_id == 1
    assert len(first.response.members) == 2
    assert second.response.members == ()


def test_the_initial_delay_is_never_extended_past_the_rebalance_timeout() -> None:
    core = Core()
    _, first = core.join_with_id(rebalance_ms=7_000)
    for _ in range(6):
        core.advance(1_000)
        core.join_with_id(rebalance_ms=7_000)
    core.advance(1_000)
    assert not first.is_waiting


def test_a_new_group_is_stored_before_anybody_is_told_of_it() -> None:
    core = Core()
    core.hold = True
    refused = core.join()
    assert refused.is_waiting
    core.commit_held()
    assert refused.error == "MemberIdAssigned"
    assert core.shard.stored_groups["g"].generation == 0


def test_a_new_group_that_cannot_be_stored_never_was() -> None:
    core = Core()
    core.refuse = CoordinatorNotAvailable()
    assert core.join().error == "CoordinatorNotAvailable"
    answer = core.join(instance="i")
    assert answer.error == "CoordinatorNotAvailable"
    assert core.state() == "none"
    assert len(core.shard.timers) == 1, "only the clean-up is left"
    core.refuse = None
    _, answer = core.join_with_id()
    core.advance(core.initial_delay_ms)
    assert answer.response.generation_id == 1


def test_a_member_joins_a_stable_group_and_all_join_again() -> None:
    core = Core()
    [leader] = core.stable()
    newcomer, answer = core.join_with_id()
    assert core.state() == "PreparingRebalance"
    assert core.heartbeat(leader, 1) == "RebalanceInProgress"
    again = core.join(member=leader)
    assert again.response.generation_id == 2
    assert again.response.leader == leader
    assert {each.member_id for each in again.response.members} == {leader, newcomer}
    assert answer.response.members == ()
    assert core.state() == "CompletingRebalance"


def test_a_member_that_does_not_join_again_in_time_is_removed() -> None:
    core = Core()
    leader, other = core.stable(2)
    _, answer = core.join_with_id()
    core.join(member=other)
    for _ in range(REBALANCE_MS // SESSION_MS):
        core.advance(SESSION_MS - 1)
        core.heartbeat(leader, 1)
    core.advance(SESSION_MS)
    response = answer.response
    assert response.generation_id == 2
    assert response.leader == other, "the leader has to be one who joined"
    assert core.heartbeat(leader, 2) == "UnknownMemberId"


def test_a_pending_member_is_waited_for_until_its_session_ends() -> None:
    core = Core()
    [leader] = core.stable()
    core.join()
    assert core.join(member=leader).is_waiting
    core.advance(SESSION_MS)
    assert core.state() == "CompletingRebalance"
    assert core.shard.groups["g"].pending_joins == set()


def test_a_follower_that_repeats_itself_changes_nothing() -> None:
    core = Core()
    _, follower = core.stable(2)
    answer = core.join(member=follower)
    assert answer.response.generation_id == 1
    assert core.state() == "Stable"


@pytest.mark.parametrize("who", [0, 1])
def test_a_changed_subscription_or_the_leader_again_means_rebalance(who: int) -> None:
    core = Core()
    members = core.stable(2)
    protocols = {"range": subscription("t", "u")} if who else None
    assert core.join(member=members[who], protocols=protocols).is_waiting
    assert core.state() == "PreparingRebalance"
    core.join(member=members[1 - who])
    assert core.state() == "CompletingRebalance"
    assert core.shard.groups["g"].topics == ({"t", "u"} if who else {"t"})


def test_a_lost_join_response_is_given_again() -> None:
    core = Core()
    member, answer = core.join_with_id()
    core.advance(core.initial_delay_ms)
    again = core.join(member=member)
    assert again.response == answer.response
    assert core.state() == "CompletingRebalance"


def test_changed_metadata_while_assigning_starts_over() -> None:
    core = Core()
    first, _ = core.join_with_id()
    second, _ = core.join_with_id()
    core.advance(2 * core.initial_delay_ms)
    follower = {first, second} - {core.shard.groups["g"].leader_id}
    waiting = core.sync(follower.pop(), 1)
    assert waiting.is_waiting
    leader = core.shard.groups["g"].leader_id
    assert core.join(member=leader, protocols={"range": subscription("u")}).is_waiting
    assert waiting.error == "RebalanceInProgress"
    assert core.state() == "PreparingRebalance"


def test_a_second_join_replaces_the_first() -> None:
    core = Core()
    member, first = core.join_with_id()
    second = core.join(member=member)
    assert first.error == "RebalanceInProgress"
    core.advance(core.initial_delay_ms)
    assert second.response.member_id == member


def test_the_protocol_most_members_prefer_among_those_all_support() -> None:
    core = Core()
    for offered in (["a", "b", "c"], ["b", "c"], ["c", "b", "x"]):
        core.join_with_id(protocols=dict.fromkeys(offered, b"\x00"))
    core.advance(2 * core.initial_delay_ms)
    assert core.shard.groups["g"].protocol == "b"


def test_a_repeated_protocol_counts_once() -> None:
    core = Core()
    core.join_with_id(protocols={"a": b"\0"})
    group = core.shard.groups["g"]
    assert group.supports("consumer", {"a": b""})
    core.join_with_id(protocols={"a": b"\0", "b": b"\0"})
    assert not group.supports("consumer", {"b": b""})


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol_type": ""},
        {"protocols": {}},
    ],
)
def test_a_new_group_needs_a_protocol(fields: dict[str, object]) -> None:
    core = Core()
    assert core.join(**fields).error == "InconsistentGroupProtocol"
    assert core.state() == "none"


@pytest.mark.parametrize("fields", [{"protocol_type": "connect"}, {"protocols": {"other": b"\0"}}])
def test_members_agree_on_a_protocol(fields: dict[str, object]) -> None:
    core = Core()
    [member] = core.stable()
    assert core.join(**fields).error == "InconsistentGroupProtocol"
    assert core.join(member=member, **fields).error == "InconsistentGroupProtocol"
    assert core.state() == "Stable"


@pytest.mark.parametrize("session_ms", [0, 5_999, 1_800_001])
def test_session_timeouts_have_bounds(session_ms: int) -> None:
    assert Core().join(session_ms=session_ms).error == "InvalidSessionTimeout"


def test_unknown_ids_are_refused() -> None:
    core = Core()
    assert core.join(member="nobody").error == "UnknownMemberId"
    assert core.state() == "none"
    core.stable()
    assert core.join(member="nobody").error == "UnknownMemberId"


def test_a_pending_id_is_no_static_member() -> None:
    core = Core()
    refused = core.join()
    assert isinstance(refused.outcome, MemberIdAssigned)
    assert core.join(member=refused.outcome.member_id, instance="i").error == "InvalidRequest"


def test_the_group_has_a_greatest_size() -> None:
    core = Core(GroupSettings(group_size_max=2))
    members = core.stable(2)
    assert core.join().error == "GroupMaxSizeReached"
    assert core.join(member=members[1]).response.generation_id == 1
    assert core.join(version=3).error == "GroupMaxSizeReached"
    assert core.state() == "Stable"


def test_a_group_larger_than_allowed_shrinks_when_it_is_loaded() -> None:
    core = Core()
    members = core.stable(3)
    core.settings = GroupSettings(group_size_max=2)
    other = core.reloaded()
    assert other.state() == "PreparingRebalance"
    answers = [other.join(member=member) for member in members]
    assert answers[2].error == "GroupMaxSizeReached"
    assert answers[0].response.generation_id == 2, "nobody waits for the one turned away"
    assert len(answers[0].response.members) == 2


def test_ids_handed_out_have_a_bound() -> None:
    core = Core(GroupSettings(pending_members_max=3))
    for _ in range(3):
        assert core.join().error == "MemberIdAssigned"
    assert core.join().error == "GroupMaxSizeReached"
    core.advance(SESSION_MS)
    assert core.join().error == "MemberIdAssigned"


def test_a_new_member_that_is_never_answered_is_given_up() -> None:
    core = Core(GroupSettings(new_member_join_timeout_ms=20_000))
    [leader] = core.stable(rebalance_ms=1_000_000)
    newcomer, answer = core.join_with_id(rebalance_ms=1_000_000)
    for _ in range(4):
        core.advance(5_000)
        core.heartbeat(leader, 1)
    assert answer.error == "UnknownMemberId"
    assert newcomer not in core.shard.groups["g"].members


def test_members_that_wait_for_the_others_need_no_heartbeats() -> None:
    core = Core()
    leader, other = core.stable(2)
    joined = core.join(member=leader)
    for _ in range(5):
        core.advance(SESSION_MS - 1)
        assert core.heartbeat(other, 1) == "RebalanceInProgress"
    assert joined.is_waiting
    core.join(member=other)
    assert joined.response.generation_id == 2


def test_everybody_leaving_during_the_first_rebalance_leaves_it_empty() -> None:
    core = Core()
    member, answer = core.join_with_id()
    core.leave(member)
    assert answer.error == "UnknownMemberId"
    core.advance(core.initial_delay_ms)
    assert core.state() == "Empty"
    assert core.shard.stored_groups["g"].generation == 1
