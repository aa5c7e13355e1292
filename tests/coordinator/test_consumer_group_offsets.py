"""Offsets of a consumer group: who may commit, fetch and delete them, expiry, and administration."""

from typing import Any

import pytest
from consumer_core import ConsumerCore
from group_core import SESSION_MS, name_of

from barnabas.coordinator.core.ports import TransactionalProducer
from barnabas.coordinator.group.admin import decide_delete_groups, list_groups
from barnabas.coordinator.group.classic.describe import describe_classic_group
from barnabas.coordinator.group.consumer.describe import describe_consumer_group
from barnabas.coordinator.group.offsets.delete import decide_delete_offsets
from barnabas.coordinator.group.offsets.fetch import fetch_offsets
from barnabas.coordinator.group.offsets.txn_commit import decide_txn_commit
from barnabas.wire.errors import GroupIdNotFound, KafkaError
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

DAY_MS = 24 * 60 * 60_000


@pytest.fixture
def core() -> ConsumerCore:
    return ConsumerCore(t=4, u=2)


def commit(core: ConsumerCore, member: str, epoch: int, partition: int = 0, topic: str = "t", **fields: Any) -> str:
    answer = core.commit_offsets(
        {(topic, partition): 7}, member=member, generation=epoch, topic_id=core.topics.id(topic), **fields
    )
    return answer.error


def fetch(core: ConsumerCore, member: str | None, epoch: int) -> str:
    try:
        fetch_offsets(core.shard, OffsetFetchRequestGroup(group_id="g", member_id=member, member_epoch=epoch))
    except KafkaError as error:
        return type(error).__name__
    return ""


def test_a_member_commits_in_its_epoch(core: ConsumerCore) -> None:
    core.enter("a", "t")
    assert commit(core, "a", 2) == ""
    assert core.offset() == 7
    assert commit(core, "a", 3) == "StaleMemberEpoch"
    assert commit(core, "b", 2) == "UnknownMemberId"
    assert commit(core, "", -1) == "UnknownMemberId", "nobody else while it has members"
    assert commit(core, "a", 2, version=8) == "UnsupportedVersion"


def test_an_older_epoch_is_good_for_what_the_member_has_had_since(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.topics.put(t=5)
    core.beat("a", 2)
    assert core.group().members["a"].member_epoch == 3
    assert commit(core, "a", 2, partition=0) == ""
    assert commit(core, "a", 2, partition=4) == "StaleMemberEpoch", "it has had that since epoch 3"
    assert commit(core, "a", 2, partition=1, topic="u") == "StaleMemberEpoch", "it never had that"


def test_what_is_to_be_given_up_may_still_be_committed(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.enter("b", "t")
    core.beat("a", 2, owned={"t": (0, 1, 2, 3)})
    assert commit(core, "a", 2, partition=3) == ""
    core.settled("a", "b")
    assert commit(core, "a", 2, partition=3) == "StaleMemberEpoch", "a zombie"


def test_administrators_commit_while_there_are_no_members(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.beat("a", -1)
    assert commit(core, "", -1) == ""


def test_fetching_checks_the_epoch_where_one_is_told(core: ConsumerCore) -> None:
    core.enter("a", "t")
    assert fetch(core, None, -1) == ""
    assert fetch(core, "a", 2) == ""
    assert fetch(core, "a", 1) == "StaleMemberEpoch"
    assert fetch(core, "b", 2) == "UnknownMemberId"


def txn_commit(core: ConsumerCore, member: str, epoch: int, partition: int = 0) -> str:
    request = TxnOffsetCommitRequest(
        group_id="g",
        member_id=member,
        generation_id=epoch,
        topics=(
            TxnOffsetCommitRequestTopic(
                name="t", partitions=(TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=1),)
            ),
        ),
    )
    try:
        decide_txn_commit(core.shard, request, TransactionalProducer(1, 0), core.now)
    except KafkaError as error:
        return type(error).__name__
    return ""


def test_in_a_transaction_the_member_may_keep_silent(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.topics.put(t=5)
    core.beat("a", 2)
    assert txn_commit(core, "", -1) == ""
    assert txn_commit(core, "a", 3) == ""
    assert txn_commit(core, "a", 2) == ""
    assert txn_commit(core, "a", 2, partition=4) == "IllegalGeneration"
    assert txn_commit(core, "a", 4) == "IllegalGeneration"
    assert txn_commit(core, "b", 2) == "UnknownMemberId"


def test_offsets_of_subscribed_topics_are_not_deleted(core: ConsumerCore) -> None:
    core.enter("a", "t")
    commit(core, "a", 2)
    commit(core, "a", 2, topic="u")

    def deleted(topic: str) -> str:
        request = OffsetDeleteRequest(
            group_id="g",
            topics=(
                OffsetDeleteRequestTopic(name=topic, partitions=(OffsetDeleteRequestPartition(partition_index=0),)),
            ),
        )
        answer = core.decide(lambda shard, _: decide_delete_offsets(shard, request))
        return name_of(answer.response.get(topic))

    assert deleted("t") == "group_subscribed_to_topic"
    assert deleted("u") == "none"
    assert (core.offset("t"), core.offset("u")) == (7, None)


def test_offsets_expire_when_nobody_subscribes_and_the_group_with_the_last(core: ConsumerCore) -> None:
    core.enter("a", "t")
    commit(core, "a", 2)
    commit(core, "a", 2, topic="u")
    for _ in range(8 * DAY_MS // 40_000):
        core.advance(40_000)
        core.beat("a", core.group().members["a"].member_epoch)
    assert (core.offset("t"), core.offset("u")) == (7, None)
    core.beat("a", -1)
    core.advance(DAY_MS)
    assert core.kind() == "none"
    assert core.shard.offsets == {}
    assert core.reloaded().shard.modern == {}


def test_groups_of_all_kinds_are_listed(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.join(group="classic", version=3, session_ms=SESSION_MS)
    core.commit_offsets({("t", 0): 1}, group="simple")

    def listed(states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> set[tuple[str, str, str, str]]:
        return {
            (each.group_id, each.group_type, each.protocol_type, each.group_state)
            for each in list_groups(core.shard, states, types)
        }

    consumers = ("g", "consumer", "consumer", "Stable")
    assert consumers in listed()
    assert len(listed()) == 3
    assert listed(types=("consumer",)) == {consumers}
    assert listed(states=("stable",)) == {consumers}
    assert {each[0] for each in listed(types=("CLASSIC",))} == {"classic", "simple"}
    assert listed(types=("share",)) == set()


def test_each_kind_is_described_by_its_own_request(core: ConsumerCore) -> None:
    core.enter("a", "t", rack_id="r", instance_id="i", server_assignor="range")
    described = describe_consumer_group(core.shard, "g")
    (member,) = described.members
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Stable", 2, 2)
    assert described.assignor_name == "range"
    assert (member.member_id, member.instance_id, member.rack_id, member.member_type) == ("a", "i", "r", 1)
    assert [(each.topic_name, each.partitions) for each in member.assignment.topic_partitions] == [("t", (0, 1, 2, 3))]
    assert member.target_assignment == member.assignment
    with pytest.raises(GroupIdNotFound, match="Group g is not a classic group"):
        describe_classic_group(core.shard, "g")
    core.commit_offsets({("t", 0): 1}, group="simple")
    with pytest.raises(GroupIdNotFound, match="Group simple is not a consumer group"):
        describe_consumer_group(core.shard, "simple")
    with pytest.raises(GroupIdNotFound, match="Group x not found"):
        describe_consumer_group(core.shard, "x")


def test_only_empty_groups_are_deleted(core: ConsumerCore) -> None:
    core.enter("a", "t")
    commit(core, "a", 2)

    def deleted() -> str:
        return name_of(core.decide(lambda shard, _: decide_delete_groups(shard, ["g"])).response["g"])

    assert deleted() == "non_empty_group"
    core.beat("a", -1)
    assert deleted() == "none"
    assert deleted() == "group_id_not_found"
    assert core.kind() == core.reloaded().kind() == "none"
    assert core.shard.offsets == {}
