"""Joining, staying and leaving by ConsumerGroupHeartbeat, one rule at a time."""

from datetime import timedelta

import pytest
from consumer_core import ConsumerCore

from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.record_format import StateRecord
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.consumer.member import MemberState
from barnabas.coordinator.group.consumer.stored import ConsumerGroupPartitionMetadataKey, StoredPartitionMetadata
from barnabas.coordinator.group.consumer.target import SIZE_AT_ONCE_MAX
from barnabas.coordinator.group.stored import encode_record
from barnabas.wire.errors import CoordinatorNotAvailable

ALL = (0, 1, 2, 3)


@pytest.fixture
def core() -> ConsumerCore:
    return ConsumerCore(t=4, u=2)


def test_the_first_member_gets_everything(core: ConsumerCore) -> None:
    answer = core.enter("a", "t")
    assert core.assigned(answer) == {"t": ALL}
    assert (answer.response.member_id, answer.response.member_epoch) == ("a", 2)
    assert answer.response.heartbeat_interval == timedelta(seconds=5)
    assert core.group().state_name == "Stable"


def test_a_member_without_an_id_is_given_one(core: ConsumerCore) -> None:
    member = core.enter("", "t").response.member_id
    assert len(member) == 22
    assert list(core.group().members) == [member]


def test_a_heartbeat_without_news_is_told_none_and_stores_nothing(core: ConsumerCore) -> None:
    core.enter("a", "t")
    stored = len(core.log)
    answer = core.beat("a", 2)
    assert core.assigned(answer) is None
    assert answer.response.member_epoch == 2
    assert len(core.log) == stored


def test_a_full_heartbeat_is_told_everything(core: ConsumerCore) -> None:
    core.enter("a", "t")
    answer = core.beat("a", 2, "t", owned={"t": ALL}, rebalance_timeout=timedelta(minutes=5))
    assert core.assigned(answer) == {"t": ALL}


def test_a_second_member_waits_until_the_first_has_let_go(core: ConsumerCore) -> None:
    core.enter("a", "t")
    second = core.enter("b", "t")
    assert core.assigned(second) == {}
    assert second.response.member_epoch == 3
    assert core.group().members["b"].state is MemberState.UNRELEASED_PARTITIONS

    answer = core.beat("a", 2, owned={"t": ALL})
    assert core.assigned(answer) == {"t": (0, 1)}
    assert answer.response.member_epoch == 2, "it stays in its epoch until it has let go"
    assert core.group().members["a"].state is MemberState.UNREVOKED_PARTITIONS
    assert core.assigned(core.beat("b", 3, owned={})) is None, "not yet"

    assert core.beat("a", 2, owned={"t": ALL}).response.member_epoch == 2, "still consuming"
    assert core.beat("a", 2, owned={"t": (0, 1)}).response.member_epoch == 3
    assert core.assigned(core.beat("b", 3, owned={})) == {"t": (2, 3)}
    assert core.group().state_name == "Stable"


def test_states_of_a_group() -> None:
    core = ConsumerCore(GroupSettings(consumer_assignment_interval_ms=10_000), t=4)
    core.enter("a", "t")
    assert core.group().state_name == "Stable"
    core.advance(1_000)
    core.enter("b", "t")
    assert core.group().state_name == "Assigning", "the last assignment is too young for another"
    core.advance(10_000)
    core.beat("b", core.group().members["b"].member_epoch)
    assert core.group().state_name == "Reconciling"
    core.settled("a", "b")
    assert core.group().state_name == "Stable"
    core.beat("a", -1)
    core.beat("b", -1)
    assert core.group().state_name == "Empty"


def test_an_epoch_from_the_future_is_fenced(core: ConsumerCore) -> None:
    core.enter("a", "t")
    assert core.beat("a", 3).error == "FencedMemberEpoch"


def test_the_previous_epoch_is_good_for_a_member_that_missed_the_answer(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.topics.put(t=5)
    assert core.beat("a", 2).response.member_epoch == 3
    assert core.beat("a", 2, owned={"t": ALL}).response.member_epoch == 3
    assert core.beat("a", 2).error == "FencedMemberEpoch", "what it has it does not say"
    core.topics.put(t=6)
    core.beat("a", 3)
    assert core.beat("a", 2, owned={"t": ALL}).error == "FencedMemberEpoch", "too old"


def test_the_previous_epoch_is_not_good_for_what_was_taken_away(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.enter("b", "t")
    core.settled("a", "b")
    epoch = core.group().members["a"].member_epoch
    assert core.beat("a", epoch - 1, owned={"t": ALL}).error == "FencedMemberEpoch"


def test_strangers(core: ConsumerCore) -> None:
    assert core.beat("a", 1).error == "GroupIdNotFound"
    assert core.beat("a", -1).error == "GroupIdNotFound"
    core.enter("a", "t")
    assert core.beat("b", 1).error == "UnknownMemberId"
    assert core.beat("b", -1).error == "UnknownMemberId"


def test_joining_again_with_the_same_id(core: ConsumerCore) -> None:
    core.enter("a", "t")
    answer = core.enter("a", "t")
    assert core.assigned(answer) == {"t": ALL}
    assert answer.response.member_epoch == 2


def test_groups_have_room_for_so_many(core: ConsumerCore) -> None:
    small = ConsumerCore(GroupSettings(consumer_group_size_max=1), t=4)
    small.enter("a", "t")
    assert small.enter("b", "t").error == "GroupMaxSizeReached"
    assert small.enter("", "t").error == "GroupMaxSizeReached"
    assert small.beat("a", 2).response.member_epoch == 2


def test_a_changed_subscription_changes_the_assignment(core: ConsumerCore) -> None:
    core.enter("a", "t")
    answer = core.beat("a", 2, "u", owned={"t": ALL})
    assert core.assigned(answer) == {}, "first it gives up what it no longer wants"
    answer = core.beat("a", 2, owned={})
    assert core.assigned(answer) == {"u": (0, 1)}
    assert answer.response.member_epoch == 3


def test_topics_that_do_not_exist_are_assigned_when_they_do(core: ConsumerCore) -> None:
    assert core.assigned(core.enter("a", "later")) == {}
    core.topics.put(later=2)
    assert core.assigned(core.beat("a", 2, owned={})) == {"later": (0, 1)}


def test_new_partitions_and_deleted_topics_are_noticed(core: ConsumerCore) -> None:
    core.enter("a", "t", "u")
    core.topics.put(u=3)
    assert core.assigned(core.beat("a", 2)) == {"t": ALL, "u": (0, 1, 2)}
    owned = {"t": ALL}
    core.topics.delete("u")
    core.settled("a")
    assert core.assigned(core.beat("a", 4, "t", owned=owned, rebalance_timeout=timedelta(minutes=5))) == owned


def test_a_topic_made_anew_is_another_topic(core: ConsumerCore) -> None:
    core.enter("a", "u")
    before = core.topics.id("u")
    core.topics.delete("u")
    core.topics.put(u=2)
    assert core.topics.id("u") != before
    core.settled("a")
    assert set(core.group().members["a"].assigned) == {core.topics.id("u")}


def test_leaving_frees_the_partitions(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.enter("b", "t")
    core.settled("a", "b")
    left = core.beat("a", -1)
    assert (left.response.member_id, left.response.member_epoch) == ("a", -1)
    assert core.settled("b") == {"b": {"t": ALL}}


def test_a_silent_member_is_removed(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.advance(44_000)
    core.beat("a", 2)
    core.advance(44_000)
    assert "a" in core.group().members
    core.advance(1_001)
    assert core.group().state_name == "Empty"
    assert core.beat("a", 2).error == "UnknownMemberId"


def test_session_and_heartbeat_can_be_set_per_group(core: ConsumerCore) -> None:
    core.group_configs["g"] = {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "999999"}
    assert core.enter("a", "t").response.heartbeat_interval == timedelta(seconds=15), "the broker's maximum"
    core.advance(59_000)
    assert "a" in core.group().members
    core.advance(1_001)
    assert not core.group().members


def test_who_does_not_let_go_in_time_is_removed(core: ConsumerCore) -> None:
    core.enter("a", "t", rebalance_timeout=timedelta(seconds=20))
    core.enter("b", "t")
    core.beat("a", 2, owned={"t": ALL})
    for _ in range(3):
        core.advance(9_000)
        core.beat("a", 2, owned={"t": ALL})
        core.beat("b", 3)
    assert "a" not in core.group().members
    assert core.settled("b") == {"b": {"t": ALL}}


def test_after_a_load_members_have_their_time_anew(core: ConsumerCore) -> None:
    core.enter("a", "t", rebalance_timeout=timedelta(seconds=20))
    core.enter("b", "t")
    core.beat("a", 2, owned={"t": ALL})
    core.advance(15_000)
    other = core.reloaded()
    other.advance(19_000)
    assert set(other.shard.modern["g"].members) == {"a", "b"}
    other.advance(2_000)
    assert set(other.shard.modern["g"].members) == {"b"}, "it has still not let go"
    other.advance(30_000)
    assert not other.shard.modern["g"].members


def test_the_assignor_most_members_ask_for(core: ConsumerCore) -> None:
    core.enter("a", "t", "u", server_assignor="range")
    core.enter("b", "t", "u")
    assert core.settled("a", "b") == {"a": {"t": (0, 1), "u": (0,)}, "b": {"t": (2, 3), "u": (1,)}}
    assert core.group().preferred_assignor(None, None) == "range"


def test_what_is_known_of_a_member(core: ConsumerCore) -> None:
    core.enter("a", "t", rack_id="r", client=ClientInfo("c", "/1.2.3.4"))
    core.beat("a", 2, client=ClientInfo("c2", "/1.2.3.4"))
    member = core.group().members["a"]
    assert (member.rack_id, member.client.client_id, member.rebalance_timeout_ms) == ("r", "c2", 300_000)


def test_many_epochs_few_assignments() -> None:
    core = ConsumerCore(GroupSettings(consumer_assignment_interval_ms=1_000), t=4)
    for member in "abcd":
        core.enter(member, "t")
    group = core.group()
    assert (group.group_epoch, group.target_epoch) == (5, 2), "all but the first wait for the next"
    core.advance(1_000)
    core.beat("a", 2)
    assert group.target_epoch == 5


def test_large_assignments_are_computed_beside_the_loop(core: ConsumerCore) -> None:
    core.topics.put(large=SIZE_AT_ONCE_MAX)
    assert core.assigned(core.enter("a", "large")) == {}
    assert core.group().state_name == "Assigning"
    core.enter("b", "large")
    assert len(core.jobs) == 1, "one at a time"
    core.run_jobs()
    group = core.group()
    assert group.target_epoch == 2, "for the group as it was when the job began"
    assert len(group.targets["a"][core.topics.id("large")]) == SIZE_AT_ONCE_MAX
    core.beat("b", group.members["b"].member_epoch)
    core.run_jobs()
    assert group.target_epoch == group.group_epoch
    owned = core.settled("a", "b")
    assert {len(each["large"]) for each in owned.values()} == {SIZE_AT_ONCE_MAX // 2}


def test_a_job_for_a_group_that_is_gone_changes_nothing(core: ConsumerCore) -> None:
    core.topics.put(large=SIZE_AT_ONCE_MAX)
    core.enter("a", "large")
    core.beat("a", -1)
    stored = len(core.log)
    core.run_jobs()
    assert "a" not in core.group().targets
    assert len(core.log) == stored + 1, "only the epoch"


def test_what_cannot_be_stored_did_not_happen(core: ConsumerCore) -> None:
    core.refuse = CoordinatorNotAvailable("the disk is full")
    assert core.enter("a", "t").error == "CoordinatorNotAvailable"
    assert core.kind() == "none"
    core.refuse = None
    core.enter("a", "t")
    core.topics.put(t=5)
    core.refuse = CoordinatorNotAvailable("the disk is full")
    assert core.beat("a", 2).error == "CoordinatorNotAvailable"
    core.refuse = None
    assert core.beat("a", 2).response.member_epoch == 3, "the topics are looked at again"


def test_answers_wait_for_their_records(core: ConsumerCore) -> None:
    core.hold = True
    answer = core.enter("a", "t")
    assert answer.is_waiting
    core.commit_held()
    assert core.assigned(answer) == {"t": ALL}


def test_regular_expressions_are_resolved_beside_the_loop(core: ConsumerCore) -> None:
    core.topics.put(tx=1)
    answer = core.enter("a", subscribed_topic_regex="t.*")
    assert core.assigned(answer) == {}
    core.run_jobs()
    assert core.assigned(core.beat("a", answer.response.member_epoch)) == {"t": ALL, "tx": (0,)}
    assert core.group().is_subscribed_to("tx")
    assert not core.group().is_subscribed_to("u")


def test_new_topics_are_matched_in_batches(core: ConsumerCore) -> None:
    core.enter("a", subscribed_topic_regex="t.*")
    core.run_jobs()
    core.settled("a")
    core.topics.put(t2=1)
    core.beat("a", core.group().members["a"].member_epoch)
    assert core.jobs == [], "the last look was a moment ago"
    core.advance(10_001)
    core.beat("a", core.group().members["a"].member_epoch)
    assert core.settled("a") == {"a": {"t": ALL, "t2": (0,)}}


def test_expressions_are_looked_at_now_and_then_anyway(core: ConsumerCore) -> None:
    core.enter("a", subscribed_topic_regex="t.*")
    core.run_jobs()
    resolved = core.group().resolved["t.*"].timestamp_ms
    for _ in range(31):
        core.advance(20_000)
        core.beat("a", core.group().members["a"].member_epoch)
        core.run_jobs()
    assert core.group().resolved["t.*"].timestamp_ms > resolved


def test_an_expression_goes_with_its_last_subscriber(core: ConsumerCore) -> None:
    core.enter("a", subscribed_topic_regex="t")
    core.enter("b", subscribed_topic_regex="t")
    core.settled("a", "b")
    core.beat("b", -1)
    assert "t" in core.group().resolved
    epoch = core.group().members["a"].member_epoch
    core.beat("a", epoch, "u", subscribed_topic_regex="")
    assert core.group().resolved == {}
    assert core.settled("a") == {"a": {"u": (0, 1)}}


def test_a_known_expression_counts_at_once(core: ConsumerCore) -> None:
    core.enter("a", subscribed_topic_regex="t")
    core.settled("a")
    core.enter("b", subscribed_topic_regex="t")
    assert core.jobs == []
    assert core.settled("a", "b") == {"a": {"t": (0, 1)}, "b": {"t": (2, 3)}}


def test_names_and_an_expression_together(core: ConsumerCore) -> None:
    core.enter("a", "u", subscribed_topic_regex="t")
    assert core.settled("a") == {"a": {"t": ALL, "u": (0, 1)}}


def test_what_is_no_expression(core: ConsumerCore) -> None:
    assert core.enter("a", subscribed_topic_regex="(").error == "InvalidRegularExpression"
    assert core.enter("a", subscribed_topic_regex="x" * 40_000).error == "InvalidRegularExpression"
    assert core.kind() == "none"


def test_an_empty_subscription(core: ConsumerCore) -> None:
    assert core.assigned(core.enter("a", names=())) == {}
    assert core.beat("a", core.group().members["a"].member_epoch).response.member_epoch >= 1


def test_who_could_not_be_removed_is_tried_again(core: ConsumerCore) -> None:
    core.enter("a", "t")
    core.refuse = CoordinatorNotAvailable("the disk is full")
    assert core.beat("a", -1).error == "CoordinatorNotAvailable"
    core.advance(46_000)
    assert "a" in core.group().members
    core.refuse = None
    core.advance(46_000)
    assert not core.group().members
    assert core.shard.timers.deadline_ms(("consumer-session", "g", "a")) is None


def test_what_kafka_4_0_stored_of_topics_is_deleted(core: ConsumerCore) -> None:
    """The topic hash has replaced it."""
    core.enter("a", "t")
    key = ConsumerGroupPartitionMetadataKey(group_id="g")
    core.shard.replay(StateRecord(key, StoredPartitionMetadata()))
    core.log.append(encode_record(StateRecord(key, StoredPartitionMetadata())))
    assert core.group().has_partition_metadata
    core.topics.put(t=5)
    core.beat("a", 2)
    assert not core.group().has_partition_metadata
    assert not core.reloaded().group().has_partition_metadata
