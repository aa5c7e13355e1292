"""Leaders and replicas of partitions in clusters of several brokers, some of them offline."""

import pytest
from cluster_images import applied, cluster, code_of, topic, with_topics

from barnabas.controller.decisions.brokers import decide_fence_broker
from barnabas.controller.decisions.elections import PREFERRED, RECOVERING, UNCLEAN, decide_elect_leaders
from barnabas.controller.decisions.reassignments import decide_alter_partition_reassignments
from barnabas.controller.decisions.unregister_broker import decide_unregister_broker
from barnabas.metadata.delta import replay
from barnabas.metadata.image import ClusterImage, PartitionImage
from barnabas.metadata.records import NO_LEADER, PartitionChangeRecord
from barnabas.wire.errors import BrokerIdNotRegistered, ErrorCode, InvalidRequest
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions


def partition(image: ClusterImage) -> PartitionImage:
    return image.topics.by_name["t"].partitions[0]


def changed(image: ClusterImage, **changes: object) -> ClusterImage:
    record = PartitionChangeRecord(partition_id=0, topic_id=image.topics.by_name["t"].id).replace(**changes)
    return replay(image, [record], offset=image.offset + 1)[0]


def fenced(image: ClusterImage, broker_id: int) -> ClusterImage:
    epoch = image.brokers[broker_id].epoch
    return applied(image, decide_fence_broker(image, broker_id=broker_id, broker_epoch=epoch))


@pytest.fixture
def three() -> ClusterImage:
    """One partition on brokers 1, 2 and 3, led by 1."""
    return with_topics(cluster(1, 2, 3), topic("t", assignments=[(1, 2, 3)]))


def elect(image: ClusterImage, kind: int, *, everything: bool = False) -> tuple[list[ErrorCode], ClusterImage]:
    wanted = None if everything else (TopicPartitions(topic="t", partitions=(0,)),)
    decision = decide_elect_leaders(image, ElectLeadersRequest(election_type=kind, topic_partitions=wanted))
    errors = [code_of(outcome) for _, outcomes in decision.response for _, outcome in outcomes]
    return errors, applied(image, decision)


def test_a_partition_that_is_led_as_preferred_needs_no_election(three: ClusterImage) -> None:
    assert elect(three, PREFERRED) == ([ErrorCode.election_not_needed], three)
    assert elect(three, UNCLEAN) == ([ErrorCode.election_not_needed], three)
    # For all partitions, the answer lists only those where an election took place.
    assert elect(three, PREFERRED, everything=True) == ([], three)


def test_the_preferred_replica_leads_again(three: ClusterImage) -> None:
    image = changed(three, leader=2)
    errors, after = elect(image, PREFERRED)
    assert errors == [ErrorCode.none]
    assert (partition(after).leader, partition(after).leader_epoch) == (1, partition(image).leader_epoch + 1)


@pytest.mark.parametrize("why", ["fenced", "out of sync"])
def test_a_preferred_replica_that_cannot_lead_is_not_elected(three: ClusterImage, why: str) -> None:
    image = changed(three, leader=2, isr=(2, 3) if why == "out of sync" else None)
    if why == "fenced":
        image = fenced(image, 1)
    assert elect(image, PREFERRED) == ([ErrorCode.preferred_leader_not_available], image)


def test_an_unclean_election_takes_who_is_alive(three: ClusterImage) -> None:
    image = fenced(changed(three, leader=NO_LEADER, isr=(1,)), 1)
    errors, after = elect(image, UNCLEAN)
    assert errors == [ErrorCode.none]
    found = partition(after)
    assert (found.leader, found.isr, found.leader_recovery_state) == (2, (2,), RECOVERING)


def test_an_unclean_election_prefers_who_is_in_sync(three: ClusterImage) -> None:
    errors, after = elect(changed(three, leader=NO_LEADER, isr=(3,)), UNCLEAN)
    assert errors == [ErrorCode.none]
    assert (partition(after).leader, partition(after).leader_recovery_state) == (3, 0)


def test_with_nobody_alive_nobody_is_elected(three: ClusterImage) -> None:
    image = changed(three, leader=NO_LEADER, isr=(1,))
    for broker_id in (1, 2, 3):
        image = fenced(image, broker_id)
    assert elect(image, UNCLEAN) == ([ErrorCode.eligible_leaders_not_available], image)


def reassign(
    image: ClusterImage, replicas: tuple[int, ...] | None, *, allow_factor_change: bool = True
) -> tuple[ErrorCode, ClusterImage]:
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=allow_factor_change,
        topics=(
            ReassignableTopic(name="t", partitions=(ReassignablePartition(partition_index=0, replicas=replicas),)),
        ),
    )
    decision = decide_alter_partition_reassignments(image, request)
    return code_of(decision.response[0][0]), applied(image, decision)


def test_what_is_so_already_changes_nothing(three: ClusterImage) -> None:
    assert reassign(three, (1, 2, 3)) == (ErrorCode.none, three)
    assert reassign(three, None) == (ErrorCode.no_reassignment_in_progress, three)


def test_another_order_is_taken_at_once(three: ClusterImage) -> None:
    code, after = reassign(three, (3, 2, 1))
    assert code is ErrorCode.none
    assert (partition(after).replicas, partition(after).leader) == ((3, 2, 1), 1)


def test_replicas_that_only_go_go_at_once(three: ClusterImage) -> None:
    _, after = reassign(three, (2, 3))
    found = partition(after)
    assert (found.replicas, found.isr, found.leader, found.removing_replicas) == ((2, 3), (2, 3), 2, ())
    assert found.leader_epoch == partition(three).leader_epoch + 1


def test_new_replicas_are_added_before_old_ones_go_and_that_can_be_called_off() -> None:
    image = with_topics(cluster(1, 2, 3), topic("t", assignments=[(1, 2)]))
    code, moving = reassign(image, (3, 2))
    assert code is ErrorCode.none
    found = partition(moving)
    assert (found.replicas, found.adding_replicas, found.removing_replicas) == ((3, 2, 1), (3,), (1,))
    assert found.directories[0] == moving.brokers[3].directories[0]
    assert (found.leader, found.isr) == (1, (1, 2))
    code, back = reassign(moving, None)
    assert code is ErrorCode.none
    assert (partition(back).replicas, partition(back).adding_replicas) == ((2, 1), ())


@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        ((), ErrorCode.invalid_replica_assignment),
        ((1, 1), ErrorCode.invalid_replica_assignment),
        ((1, 9), ErrorCode.invalid_replica_assignment),
        ((-1,), ErrorCode.invalid_replica_assignment),
    ],
)
def test_assignments_that_cannot_be(three: ClusterImage, replicas: tuple[int, ...], code: ErrorCode) -> None:
    assert reassign(three, replicas) == (code, three)


def test_the_number_of_replicas_is_kept_where_that_is_asked_for(three: ClusterImage) -> None:
    assert reassign(three, (1, 2), allow_factor_change=False) == (ErrorCode.invalid_replication_factor, three)
    assert reassign(three, (2, 1, 3), allow_factor_change=False)[0] is ErrorCode.none


def test_unknown_partitions_are_named() -> None:
    image = with_topics(cluster(1), topic("t", partitions=1))
    request = AlterPartitionReassignmentsRequest(
        topics=(
            ReassignableTopic(name="t", partitions=(ReassignablePartition(partition_index=7, replicas=(1,)),)),
            ReassignableTopic(name="u", partitions=(ReassignablePartition(partition_index=0, replicas=(1,)),)),
        )
    )
    decision = decide_alter_partition_reassignments(image, request)
    assert [(code_of(outcome), str(outcome)) for outcomes in decision.response for outcome in outcomes] == [
        (ErrorCode.unknown_topic_or_partition, "Unable to find partition t:7."),
        (ErrorCode.unknown_topic_or_partition, "Unable to find a topic named u."),
    ]


def test_a_broker_that_is_gone_is_forgotten(three: ClusterImage) -> None:
    after = applied(three, decide_unregister_broker(fenced(three, 1), 1))
    assert set(after.brokers) == {2, 3}
    assert (partition(after).isr, partition(after).leader) == ((2, 3), 2)


def test_the_last_in_sync_replica_stays_in_the_books() -> None:
    image = fenced(with_topics(cluster(1, 2), topic("t", assignments=[(1,)])), 1)
    after = applied(image, decide_unregister_broker(image, 1))
    assert (partition(after).isr, partition(after).leader) == ((1,), NO_LEADER)


def test_a_broker_that_runs_or_never_was_is_not_unregistered(three: ClusterImage) -> None:
    with pytest.raises(InvalidRequest, match="stop it"):
        decide_unregister_broker(three, 1)
    with pytest.raises(BrokerIdNotRegistered):
        decide_unregister_broker(three, 9)
