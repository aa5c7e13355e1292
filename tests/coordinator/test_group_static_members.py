from group_core import REBALANCE_MS, SESSION_MS, Core, name_of, subscription

from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.wire.errors import NotCoordinator


def static_group(core: Core, *instances: str, **fields: object) -> dict[str, str]:
    """A stable group of static members: their ids by instance id. The first one leads."""
    answers = {instance: core.join(instance=instance, **fields) for instance in instances}
    core.advance(2 * core.initial_delay_ms)
    ids = {instance: answer.response.member_id for instance, answer in answers.items()}
    for instance in instances[1:]:
        core.sync(ids[instance], 1, instance=instance)
    leader = instances[0]
    core.sync(ids[leader], 1, {each: instance.encode() for instance, each in ids.items()}, instance=leader)
    assert core.state() == "Stable"
    return ids


def test_a_static_member_joins_at_once_with_an_id_of_its_own() -> None:
    core = Core()
    ids = static_group(core, "a")
    assert ids["a"].startswith("a-")


def test_it_returns_under_a_new_id_without_a_rebalance() -> None:
    core = Core()
    ids = static_group(core, "a", "b")
    back = core.join(instance="b", client=ClientInfo("new", "/10.0.0.1"))
    assert back.response.generation_id == 1
    assert back.response.member_id != ids["b"]
    assert back.response.leader == ids["a"]
    assert not back.response.skip_assignment
    assert core.state() == "Stable"
    assert core.sync(back.response.member_id, 1, instance="b").response.assignment == b"b"
    stored = {each.group_instance_id: each for each in core.shard.stored_groups["g"].members}
    assert stored["b"].member_id == back.response.member_id
    assert stored["b"].client_id == "new"
    assert stored["b"].assignment == b"b"


def test_the_old_id_is_fenced_everywhere() -> None:
    core = Core()
    ids = static_group(core, "a", "b")
    core.join(instance="b")
    old = ids["b"]
    assert core.heartbeat(old, 1, instance="b") == "FencedInstanceId"
    assert core.heartbeat(old, 1) == "UnknownMemberId"
    assert core.sync(old, 1, instance="b").error == "FencedInstanceId"
    assert core.join(member=old, instance="b").error == "FencedInstanceId"
    assert core.commit_offsets({("t", 0): 1}, member=old, generation=1, instance="b").error == "FencedInstanceId"
    assert name_of(core.leave((old, "b")).response[0]) == "fenced_instance_id"
    assert core.state() == "Stable"


def test_a_returning_leader_is_told_to_skip_the_assignment() -> None:
    core = Core()
    static_group(core, "a", "b")
    back = core.join(instance="a").response
    assert back.leader == back.member_id
    assert back.skip_assignment
    assert {each.group_instance_id for each in back.members} == {"a", "b"}


def test_a_returning_leader_that_cannot_skip_believes_to_follow() -> None:
    core = Core()
    ids = static_group(core, "a", "b")
    back = core.join(instance="a", version=8).response
    assert back.leader == ids["a"]
    assert back.member_id != ids["a"]
    assert not back.skip_assignment
    assert back.members == ()
    assert core.shard.groups["g"].leader_id == back.member_id


def test_a_changed_protocol_is_a_rebalance() -> None:
    core = Core()
    both = {"range": subscription("t"), "sticky": subscription("t")}
    ids = static_group(core, "a", "b", protocols=both)
    assert core.shard.groups["g"].protocol == "range"
    back = core.join(instance="b", protocols={"sticky": subscription("t")})
    assert back.is_waiting
    assert core.state() == "PreparingRebalance"
    core.join(member=ids["a"], instance="a", protocols=both)
    assert back.response.protocol_name == "sticky"


def test_a_changed_subscription_alone_is_none() -> None:
    """As in Kafka: the leader has to notice that by itself."""
    core = Core()
    static_group(core, "a", "b")
    assert core.join(instance="b", protocols={"range": subscription("t", "u")}).response.generation_id == 1


def test_a_return_that_cannot_be_stored_is_taken_back() -> None:
    core = Core()
    ids = static_group(core, "a", "b")
    core.refuse = NotCoordinator()
    assert core.join(instance="a").error == "NotCoordinator"
    assert core.shard.groups["g"].static_members == ids
    assert core.shard.groups["g"].leader_id == ids["a"]
    assert core.heartbeat(ids["a"], 1, instance="a") == ""
    core.refuse = None
    core.advance(SESSION_MS - 1)
    assert core.heartbeat(ids["b"], 1, instance="b") == ""


def test_a_rebalance_that_begins_before_the_return_is_stored_answers_instead() -> None:
    core = Core()
    ids = static_group(core, "a", "b")
    core.hold = True
    back = core.join(instance="b")
    assert back.is_waiting
    core.join(member=ids["a"], instance="a", protocols={"range": subscription("u")})
    assert back.response.generation_id == 2
    core.commit_held()
    assert core.state() == "CompletingRebalance"


def test_a_return_while_assignments_are_made_is_a_rebalance() -> None:
    core = Core()
    first, second = core.join(instance="a"), core.join(instance="b")
    core.advance(2 * core.initial_delay_ms)
    waiting = core.sync(second.response.member_id, 1, instance="b")
    back = core.join(instance="b")
    assert waiting.error == "FencedInstanceId"
    assert back.is_waiting
    assert core.state() == "PreparingRebalance"
    core.join(member=first.response.member_id, instance="a")
    assert back.response.generation_id == 2


def test_a_return_while_joining_fences_the_parked_request() -> None:
    core = Core()
    first = core.join(instance="a")
    second = core.join(instance="a")
    assert first.error == "FencedInstanceId"
    core.advance(core.initial_delay_ms)
    assert second.response.generation_id == 1
    assert len(second.response.members) == 1


def test_absent_static_members_are_kept_through_a_rebalance() -> None:
    core = Core()
    ids = static_group(core, "a", "b", session_ms=REBALANCE_MS * 3)
    rejoined = core.join(member=ids["a"], instance="a", session_ms=REBALANCE_MS * 3)
    core.advance(REBALANCE_MS)
    assert {each.group_instance_id for each in rejoined.response.members} == {"a", "b"}


def test_if_no_static_member_joins_the_rebalance_waits_on() -> None:
    core = Core()
    ids = static_group(core, "a", "b", session_ms=REBALANCE_MS * 3)
    dynamic, _ = core.join_with_id()
    core.leave(dynamic)
    core.advance(REBALANCE_MS)
    assert core.state() == "PreparingRebalance"
    answer = core.join(member=ids["b"], instance="b", session_ms=REBALANCE_MS * 3)
    core.advance(REBALANCE_MS)
    assert answer.response.leader == ids["b"]


def test_an_unheard_static_member_is_removed_when_its_session_ends() -> None:
    core = Core()
    ids = static_group(core, "a", "b")
    core.advance(SESSION_MS - 1)
    core.heartbeat(ids["a"], 1, instance="a")
    core.advance(1)
    assert core.state() == "PreparingRebalance"
    assert "b" not in core.shard.groups["g"].static_members


def test_an_administrator_removes_by_instance_id() -> None:
    core = Core()
    static_group(core, "a", "b")
    response = core.leave(("", "b"), ("", "c"), ("", None)).response
    assert [name_of(error) for error in response] == ["none", "unknown_member_id", "unknown_member_id"]
    assert core.state() == "PreparingRebalance"


def test_static_members_survive_a_new_coordinator() -> None:
    core = Core()
    ids = static_group(core, "a", "b")
    other = core.reloaded()
    assert other.shard.groups["g"].static_members == ids
    assert other.heartbeat(ids["b"], 1, instance="b") == ""
    assert other.join(instance="b").response.generation_id == 1
