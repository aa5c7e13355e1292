"""Groups that change their protocol, and groups with members of both."""

from typing import Any

import pytest
from consumer_core import ConsumerCore
from group_core import REBALANCE_MS, Answer, name_of

from barnabas.coordinator.group.classic.join import MemberIdAssigned
from barnabas.coordinator.group.classic.subscription import (
    ProtocolAssignment,
    ProtocolTopic,
    Subscription,
    encode_assignment,
    parse_assignment,
)
from barnabas.coordinator.group.common.settings import GroupSettings, MigrationPolicy
from barnabas.wire.codec import encode_versioned
from barnabas.wire.errors import CoordinatorNotAvailable


def subscription(*topics: str, owned: dict[str, tuple[int, ...]] | None = None, version: int = 1) -> bytes:
    return encode_versioned(
        Subscription(
            topics=topics,
            owned_partitions=tuple(
                ProtocolTopic(topic=topic, partitions=partitions) for topic, partitions in (owned or {}).items()
            ),
        ),
        version,
    )


def assignment(**partitions: tuple[int, ...]) -> bytes:
    topics = tuple(ProtocolTopic(topic=topic, partitions=indexes) for topic, indexes in partitions.items())
    return encode_assignment(ProtocolAssignment(assigned_partitions=topics), b"\0\1")


def read(assigned: bytes) -> dict[str, tuple[int, ...]]:
    return {topic.topic: topic.partitions for topic in parse_assignment(assigned).assigned_partitions}


class Mixed(ConsumerCore):
    def classic_join(
        self, member: str = "", *topics: str, owned: dict[str, tuple[int, ...]] | None = None, **fields: Any
    ) -> Answer:
        protocols = {"range": subscription(*(topics or ("t",)), owned=owned)}
        return self.join(member=member, protocols=protocols, rebalance_ms=REBALANCE_MS, **fields)

    def classic_enter(self, *topics: str, **fields: Any) -> tuple[str, Answer]:
        refused = self.classic_join("", *topics, **fields)
        assert isinstance(refused.outcome, MemberIdAssigned), refused.outcome
        return refused.outcome.member_id, self.classic_join(refused.outcome.member_id, *topics, **fields)

    def classic_group(self, size: int = 2, **fields: Any) -> list[str]:
        """Stable, each with its share of four partitions."""
        joining = [self.classic_enter(**fields) for _ in range(size)]
        self.advance(2 * self.initial_delay_ms + 1)
        members = [member for member, _ in joining]
        generation = joining[0][1].response.generation_id
        leader = joining[0][1].response.leader
        share = 4 // size
        shares = {
            member: assignment(t=tuple(range(index * share, (index + 1) * share)))
            for index, member in enumerate(members)
        }
        for member in members:
            if member != leader:
                self.sync(member, generation)
        self.sync(leader, generation, shares)
        assert self.state() == "Stable"
        return members


@pytest.fixture
def core() -> Mixed:
    return Mixed(t=4, u=2)


def test_a_classic_group_becomes_a_consumer_group_and_nobody_stops(core: Mixed) -> None:
    first, second = core.classic_group()
    generation = core.shard.groups["g"].generation
    answer = core.enter("new", "t")
    assert core.kind() == "consumer"
    group = core.group()
    assert group.group_epoch == generation + 1
    assert core.assigned(answer) == {}, "others have everything"
    for member, share in ((first, {0: generation, 1: generation}), (second, {2: generation, 3: generation})):
        assert group.members[member].assigned == {core.topics.id("t"): share}
        assert group.members[member].member_epoch == generation
        assert core.heartbeat(member, generation) == "RebalanceInProgress", "there is a new target"


def test_a_classic_member_follows_the_target(core: Mixed) -> None:
    first, second = core.classic_group()
    generation = core.shard.groups["g"].generation
    epoch = core.enter("new", "t").response.member_epoch
    shares = {}
    for member, owned in ((first, (0, 1)), (second, (2, 3))):
        joined = core.classic_join(member, owned={"t": owned})
        assert (joined.response.protocol_name, joined.response.leader) == ("range", "")
        synced = core.sync(member, joined.response.generation_id, protocol_type="consumer", protocol="range")
        shares[member] = read(synced.response.assignment)["t"]
        if len(shares[member]) < len(owned):
            assert joined.response.generation_id == generation, "it has to let go first"
            assert core.heartbeat(member, generation) == "RebalanceInProgress"
            again = core.classic_join(member, owned={"t": shares[member]})
            assert again.response.generation_id == epoch
            assert read(core.sync(member, epoch).response.assignment)["t"] == shares[member]
        assert core.heartbeat(member, epoch) == ""
    free = sorted({0, 1, 2, 3} - set(sum(shares.values(), ())))
    assert core.assigned(core.beat("new", epoch, owned={})) == {"t": tuple(free)}
    assert len(free) == 1
    assert core.group().state_name == "Stable"


def test_a_classic_member_waits_for_what_is_not_free(core: Mixed) -> None:
    core.enter("a", "t")
    member, joined = core.classic_enter()
    epoch = joined.response.generation_id
    assert read(core.sync(member, epoch).response.assignment) == {}
    assert core.heartbeat(member, epoch) == "", "there is nothing to join for"
    core.beat("a", 2, owned={"t": (0, 1, 2, 3)})
    core.beat("a", 2, owned={"t": (0, 1)})
    assert core.heartbeat(member, epoch) == "RebalanceInProgress"
    again = core.classic_join(member)
    assert read(core.sync(member, again.response.generation_id).response.assignment) == {"t": (2, 3)}


def test_requests_of_classic_members_are_checked(core: Mixed) -> None:
    core.enter("a", "t")
    member, joined = core.classic_enter()
    epoch = joined.response.generation_id
    assert core.sync(member, epoch + 1).error == "IllegalGeneration"
    assert core.sync("x", epoch).error == "UnknownMemberId"
    assert core.sync("a", 2).error == "UnknownMemberId", "that one speaks the other protocol"
    assert core.sync(member, epoch, protocol_type="connect").error == "InconsistentGroupProtocol"
    assert core.sync(member, epoch, protocol="sticky").error == "InconsistentGroupProtocol"
    assert core.heartbeat(member, epoch - 1) == "IllegalGeneration"
    assert core.heartbeat("x", epoch) == "UnknownMemberId"
    assert core.join(protocols={"range": b"\xff"}, version=3).error == "InconsistentGroupProtocol"
    assert core.join(protocols={"other": subscription("t")}, version=3).error == "InconsistentGroupProtocol"
    assert core.join(protocol_type="connect").error == "InconsistentGroupProtocol"
    assert core.join(session_ms=1).error == "InvalidSessionTimeout"


def test_a_rebalance_while_it_syncs(core: Mixed) -> None:
    core.enter("a", "t")
    member, joined = core.classic_enter()
    core.enter("b", "t")
    assert core.sync(member, joined.response.generation_id).error == "RebalanceInProgress"


def test_deadlines_of_classic_members(core: Mixed) -> None:
    core.enter("a", "t")
    member, joined = core.classic_enter()
    core.advance(9_000)
    assert core.heartbeat(member, joined.response.generation_id) == ""
    core.beat("a", 2)
    core.advance(10_001)
    assert member not in core.group().members, "the session it asked for"

    late, joined = core.classic_enter()
    for _ in range(7):
        core.advance(9_000)
        core.beat("a", core.group().members["a"].member_epoch, owned={"t": (0, 1)})
        core.heartbeat(late, joined.response.generation_id)
    assert late not in core.group().members, "it joined, and never asked for its assignment"


def test_a_classic_member_that_does_not_join_again_is_removed(core: Mixed) -> None:
    core.enter("a", "t")
    member, joined = core.classic_enter()
    epoch = joined.response.generation_id
    core.sync(member, epoch)
    core.enter("b", "t")
    for _ in range(9):
        core.advance(9_000)
        core.heartbeat(member, epoch)
        for other in ("a", "b"):
            core.beat(other, core.group().members[other].member_epoch)
    assert member not in core.group().members


def test_commits_of_classic_members_have_their_generation(core: Mixed) -> None:
    core.enter("a", "t")
    member, joined = core.classic_enter()
    epoch = joined.response.generation_id
    fields = {"member": member, "topic_id": core.topics.id("t")}
    assert core.commit_offsets({("t", 0): 1}, generation=epoch, version=8, **fields).error == ""
    assert core.commit_offsets({("t", 0): 1}, generation=epoch + 1, version=8, **fields).error == "IllegalGeneration"


def test_the_last_of_the_new_protocol_leaves_and_the_group_is_classic_again(core: Mixed) -> None:
    members = core.classic_group()
    core.enter("new", "t")
    core.beat("new", -1)
    assert core.kind() == "classic"
    assert core.state() == "PreparingRebalance"
    assert core.shard.modern == {}
    rejoined = [core.classic_join(member) for member in members]
    generation = rejoined[0].response.generation_id
    assert {answer.response.generation_id for answer in rejoined} == {generation}
    leader = rejoined[0].response.leader
    for member in members:
        if member != leader:
            core.sync(member, generation)
    assert core.sync(leader, generation, {member: assignment(t=(0,)) for member in members}).error == ""
    assert core.state() == "Stable"
    assert core.reloaded().kind() == "classic"


def test_so_it_is_when_its_session_ends(core: Mixed) -> None:
    members = core.classic_group()
    core.enter("new", "t")
    for _ in range(4):
        core.advance(9_000)
        for member in members:
            core.heartbeat(member, core.group().members[member].member_epoch)
    core.advance(9_001)
    assert core.kind() == "classic"
    assert set(core.shard.groups["g"].members) == set(members)


def test_a_reload_in_between_changes_nothing(core: Mixed) -> None:
    members = core.classic_group()
    core.enter("new", "t")
    other = core.reloaded()
    assert other.kind() == "consumer"
    assert other.group().members == core.group().members
    other.beat("new", -1)
    assert other.kind() == other.reloaded().kind() == "classic"
    assert set(other.reloaded().shard.groups["g"].members) == set(members)


def test_who_waits_in_a_classic_group_is_told_to_join_again(core: Mixed) -> None:
    first, _ = core.classic_group()
    parked = core.classic_join(first)
    assert parked.is_waiting
    core.enter("new", "t")
    assert parked.error == "RebalanceInProgress"


def test_who_waits_goes_on_waiting_if_the_change_cannot_be_stored(core: Mixed) -> None:
    first, second = core.classic_group()
    parked = core.classic_join(first)
    core.refuse = CoordinatorNotAvailable("the disk is full")
    assert core.enter("new", "t").error == "CoordinatorNotAvailable"
    assert core.kind() == "classic"
    assert parked.is_waiting
    core.classic_join(second)
    assert parked.response.generation_id == core.shard.groups["g"].generation


def test_empty_groups_change_without_further_ado() -> None:
    disabled = GroupSettings(migration_policy=MigrationPolicy.DISABLED, initial_rebalance_delay_ms=0)
    core = Mixed(disabled, t=4)
    core.commit_offsets({("t", 0): 5})
    core.enter("a", "t")
    assert core.kind() == "consumer"
    assert core.offset() == 5
    core.beat("a", -1)
    member, _ = core.classic_enter()
    assert core.kind() == "classic"
    assert core.offset() == 5
    assert core.reloaded().kind() == "classic"
    core.leave(member)
    core.advance(1)
    assert core.state() == "Empty"
    assert core.enter("a", "t").error == ""
    assert core.reloaded().kind() == "consumer"


@pytest.mark.parametrize(
    ("policy", "up", "down"),
    [
        (MigrationPolicy.DISABLED, False, False),
        (MigrationPolicy.UPGRADE, True, False),
        (MigrationPolicy.DOWNGRADE, False, True),
        (MigrationPolicy.BIDIRECTIONAL, True, True),
    ],
)
def test_the_policy(policy: MigrationPolicy, up: bool, down: bool) -> None:
    settings = GroupSettings(migration_policy=policy, initial_rebalance_delay_ms=0, consumer_assignment_interval_ms=0)
    core = Mixed(settings, t=4)
    core.classic_group()
    assert core.enter("new", "t").error == ("" if up else "GroupIdNotFound")
    assert core.kind() == ("consumer" if up else "classic")

    core = Mixed(settings, t=4)
    core.enter("new", "t")
    answer = core.classic_join()
    if policy is MigrationPolicy.DISABLED:
        assert answer.error == "InconsistentGroupProtocol"
        return
    core.classic_enter()
    core.beat("new", -1)
    assert core.kind() == ("classic" if down else "consumer")


def test_what_cannot_be_upgraded() -> None:
    core = Mixed(t=4)
    core.stable()
    refused = core.enter("new", "t")
    assert refused.error == "GroupIdNotFound"
    assert "malformed" in str(refused.outcome), "the assignment is no consumer's"

    core = Mixed(t=4)
    core.stable(protocol_type="connect", protocols={"p": b"x"})
    assert "does not use the consumer embedded protocol" in str(core.enter("new", "t").outcome)

    core = Mixed(GroupSettings(consumer_group_size_max=1, initial_rebalance_delay_ms=0), t=4)
    core.classic_group()
    assert "exceeds the consumer group maximum size" in str(core.enter("new", "t").outcome)

    core = Mixed(t=4)
    member, joined = core.classic_enter()
    core.advance(2 * core.initial_delay_ms + 1)
    custom = encode_assignment(ProtocolAssignment(user_data=b"x"), b"\0\1")
    core.sync(member, joined.response.generation_id, {member: custom})
    assert "custom assignor" in str(core.enter("new", "t").outcome)


def test_a_group_too_large_for_the_classic_protocol_stays(core: Mixed) -> None:
    small = Mixed(GroupSettings(group_size_max=1, initial_rebalance_delay_ms=0), t=4)
    small.enter("new", "t")
    small.classic_enter()
    small.classic_enter()
    small.beat("new", -1)
    assert small.kind() == "consumer"


def test_a_static_member_takes_its_place_along_to_the_new_protocol(core: Mixed) -> None:
    core.enter("a", "t")
    core.classic_join("", instance="i")
    (old,) = set(core.group().members) - {"a"}
    core.enter("b", "t", instance_id="i")
    assert set(core.group().members) == {"a", "b"}
    assert core.heartbeat(old, core.group().target_epoch, instance="i") == "FencedInstanceId"
    assert core.settled("a", "b") == {"a": {"t": (0, 1)}, "b": {"t": (2, 3)}}


def test_and_back(core: Mixed) -> None:
    """The last member of the new protocol rejoins with the classic one, without a rebalance of the others."""
    core.enter("a", "t", instance_id="i")
    core.classic_join("", instance="j")
    (classic,) = set(core.group().members) - {"a"}
    core.beat("a", 2, owned={"t": (0, 1, 2, 3)})
    core.beat("a", 2, owned={"t": (0, 1)})
    again = core.classic_join(classic, instance="j")
    core.sync(classic, again.response.generation_id, instance="j")
    assert core.group().state_name == "Stable"
    core.beat("a", -2, instance_id="i")
    back = core.classic_join("", instance="i", owned={})
    assert core.kind() == "classic"
    assert core.state() == "Stable"
    synced = core.sync(back.response.member_id, back.response.generation_id, instance="i")
    assert read(synced.response.assignment) == {"t": (0, 1)}
    assert core.reloaded().kind() == "classic"


def test_administrators_remove_members_of_either_protocol(core: Mixed) -> None:
    core.enter("a", "t")
    core.enter("b", "t", instance_id="i")
    core.enter("c", "t")
    answer = core.leave("a", ("", "i"), "x", ("z", "i"))
    assert [name_of(error) for error in answer.response] == [
        "none",
        "none",
        "unknown_member_id",
        "fenced_instance_id",
    ]
    assert set(core.group().members) == {"c"}
