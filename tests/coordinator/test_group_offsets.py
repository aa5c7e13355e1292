import uuid

import pytest
from group_core import REBALANCE_MS, SESSION_MS, Core, name_of, subscription

from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.offsets.delete import decide_delete_offsets, decide_topics_deleted
from barnabas.coordinator.group.offsets.fetch import fetch_offsets
from barnabas.wire.errors import CoordinatorNotAvailable, KafkaError
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics


def fetch(core: Core, topics: dict[str, list[int]] | None, group: str = "g") -> dict[tuple[str, int], int]:
    asked = None
    if topics is not None:
        asked = tuple(
            OffsetFetchRequestTopics(name=name, partition_indexes=tuple(partitions))
            for name, partitions in topics.items()
        )
    return {
        (topic.name, index): -1 if found is None else found.offset
        for topic in fetch_offsets(core.shard, OffsetFetchRequestGroup(group_id=group, topics=asked))
        for index, found in topic.offsets
        if not isinstance(found, KafkaError)
    }


def delete(core: Core, topics: dict[str, list[int]], group: str = "g") -> object:
    request = OffsetDeleteRequest(
        group_id=group,
        topics=tuple(
            OffsetDeleteRequestTopic(
                name=name, partitions=tuple(OffsetDeleteRequestPartition(partition_index=index) for index in indexes)
            )
            for name, indexes in topics.items()
        ),
    )
    answer = core.decide(lambda shard, _: decide_delete_offsets(shard, request))
    if answer.error:
        return answer.error
    return {(name, index): name_of(answer.response.get(name)) for name, indexes in topics.items() for index in indexes}


def test_a_member_commits_in_its_generation() -> None:
    core = Core()
    [member] = core.stable()
    answer = core.commit_offsets({("t", 0): 5, ("t", 1): 6}, member=member, generation=1)
    assert answer.response == {}
    assert fetch(core, {"t": [1, 0, 2], "u": [0]}) == {("t", 1): 6, ("t", 0): 5, ("t", 2): -1, ("u", 0): -1}
    assert fetch(core, None) == {("t", 0): 5, ("t", 1): 6}
    assert fetch(core.reloaded(), None) == {("t", 0): 5, ("t", 1): 6}


def test_the_last_commit_counts() -> None:
    core = Core()
    for offset in (5, 9, 3):
        core.commit_offsets({("t", 0): offset})
    assert core.offset() == 3
    assert core.reloaded().offset() == 3


def test_an_unknown_group_has_no_offsets() -> None:
    core = Core()
    assert fetch(core, None, group="other") == {}
    assert fetch(core, {"t": [0]}, group="other") == {("t", 0): -1}


def test_a_simple_consumer_brings_a_group_into_being() -> None:
    core = Core()
    core.commit_offsets({("t", 0): 5})
    assert core.state() == "Empty"
    assert core.shard.groups["g"].protocol_type is None
    assert core.shard.stored_groups == {}
    assert core.reloaded().state() == "Empty"


def test_a_commit_that_cannot_be_stored_leaves_no_trace() -> None:
    core = Core()
    core.refuse = CoordinatorNotAvailable()
    assert core.commit_offsets({("t", 0): 5}).error == "CoordinatorNotAvailable"
    assert core.state() == "none"
    assert core.offset() is None


@pytest.mark.parametrize(("version", "error"), [(8, "IllegalGeneration"), (9, "GroupIdNotFound")])
def test_a_member_of_no_group(version: int, error: str) -> None:
    assert Core().commit_offsets({("t", 0): 5}, member="m", generation=3, version=version).error == error


def test_only_members_commit_while_there_are_any() -> None:
    core = Core()
    [member] = core.stable()
    assert core.commit_offsets({("t", 0): 5}).error == "UnknownMemberId"
    assert core.commit_offsets({("t", 0): 5}, member="nobody", generation=1).error == "UnknownMemberId"
    assert core.commit_offsets({("t", 0): 5}, member=member, generation=0).error == "IllegalGeneration"
    assert core.commit_offsets({("t", 0): 5}, member=member, generation=-1).error == "IllegalGeneration"
    assert core.commit_offsets({("t", 0): 5}, member=member, generation=1, instance="i").error == "UnknownMemberId"
    assert core.offset() is None
    core.leave(member)
    assert core.commit_offsets({("t", 0): 5}).error == ""
    assert core.commit_offsets({("t", 0): 5}, member=member, generation=1).error == "UnknownMemberId"


def test_commits_are_taken_while_others_join_and_refused_while_assigning() -> None:
    core = Core()
    [member] = core.stable()
    newcomer, _ = core.join_with_id()
    assert core.commit_offsets({("t", 0): 5}, member=member, generation=1).error == ""
    core.join(member=member)
    assert core.commit_offsets({("t", 0): 6}, member=newcomer, generation=2).error == "RebalanceInProgress"
    assert core.offset() == 5


def test_a_commit_is_a_sign_of_life() -> None:
    core = Core()
    [member] = core.stable()
    for _ in range(5):
        core.advance(SESSION_MS - 1)
        core.commit_offsets({("t", 0): 5}, member=member, generation=1)
    assert core.state() == "Stable"


def test_metadata_has_a_greatest_size_for_each_partition() -> None:
    core = Core(GroupSettings(offset_metadata_bytes_max=4))
    answer = core.commit_offsets({("t", 0): 5}, metadata="12345")
    assert name_of(answer.response["t", 0]) == "offset_metadata_too_large"
    assert core.offset() is None
    assert core.commit_offsets({("t", 0): 5}, metadata="1234").error == ""
    assert core.commit_offsets({("t", 0): 5}, metadata=None).error == ""
    assert core.shard.offsets["g"]["t"][0].metadata == ""


def test_an_offset_of_an_earlier_topic_of_that_name_is_not_found() -> None:
    core = Core()
    old, new = uuid.UUID(int=1), uuid.UUID(int=2)
    core.commit_offsets({("t", 0): 5}, topic_id=old)

    def offset_for(topic_id: uuid.UUID | None) -> int:
        topics = (OffsetFetchRequestTopics(name="t", topic_id=topic_id, partition_indexes=(0,)),)
        ((_, _, [(_, found)]),) = fetch_offsets(core.shard, OffsetFetchRequestGroup(group_id="g", topics=topics))
        assert not isinstance(found, KafkaError)
        return -1 if found is None else found.offset

    assert (offset_for(old), offset_for(None), offset_for(new)) == (5, 5, -1)


def test_offsets_of_topics_not_subscribed_to_can_be_deleted() -> None:
    core = Core()
    [member] = core.stable(protocols={"range": subscription("t")})
    core.commit_offsets({("t", 0): 5, ("u", 0): 6}, member=member, generation=1)
    assert delete(core, {"t": [0], "u": [0, 1]}) == {
        ("t", 0): "group_subscribed_to_topic",
        ("u", 0): "none",
        ("u", 1): "none",
    }
    assert fetch(core, None) == {("t", 0): 5}
    core.leave(member)
    assert delete(core, {"t": [0]}) == {("t", 0): "none"}
    assert fetch(core.reloaded(), None) == {}


@pytest.mark.parametrize("version", [1, 2, 3, 7])
def test_a_subscription_that_ends_before_the_fields_of_its_version_is_known(version: int) -> None:
    """kafka-go and platformatic/kafka say version 1 and stop after the user data."""
    core = Core()
    short = version.to_bytes(2, "big") + subscription("t")[2:]
    [member] = core.stable(protocols={"range": short})
    assert core.shard.groups["g"].topics == {"t"}
    core.commit_offsets({("t", 0): 5, ("u", 0): 6}, member=member, generation=1)
    assert delete(core, {"t": [0], "u": [0]}) == {("t", 0): "group_subscribed_to_topic", ("u", 0): "none"}


def test_what_a_deletion_has_to_say() -> None:
    core = Core()
    assert delete(core, {"t": [0]}) == "GroupIdNotFound"
    core.join_with_id(protocol_type="connect", protocols={"v1": b"?"})
    core.advance(core.initial_delay_ms)
    assert delete(core, {"t": [0]}) == "NonEmptyGroup"


def test_where_subscriptions_are_not_known_a_consumer_group_may_subscribe_to_anything() -> None:
    core = Core()
    core.stable(protocols={"range": b"\0"})
    assert core.shard.groups["g"].topics is None
    assert delete(core, {"t": [0]}) == {("t", 0): "group_subscribed_to_topic"}


def test_offsets_go_with_their_topic() -> None:
    core = Core()
    for group in ("g", "h"):
        core.commit_offsets({("t", 0): 5, ("t", 1): 5, ("u", 0): 5}, group=group)
    core.decide(lambda shard, _: decide_topics_deleted(shard, {"t", "never"}))
    assert fetch(core, None) == fetch(core, None, group="h") == {("u", 0): 5}
    assert fetch(core.reloaded(), None) == {("u", 0): 5}


def test_a_longer_rebalance_timeout_is_respected_for_commits_of_the_old_generation() -> None:
    core = Core()
    leader, other = core.stable(2)
    core.join(member=leader)
    core.advance(SESSION_MS // 2)
    assert core.commit_offsets({("t", 0): 7}, member=other, generation=1).error == ""
    core.advance(REBALANCE_MS)
    assert core.commit_offsets({("t", 0): 8}, member=other, generation=1).error == "UnknownMemberId"
