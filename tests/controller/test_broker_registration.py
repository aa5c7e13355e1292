"""Registration, features, producer ids."""

import asyncio

import pytest
from cluster_images import applied, cluster, registration, topic, with_topics

from barnabas.controller.decisions.brokers import decide_bootstrap, decide_fence_broker, decide_register_broker
from barnabas.controller.decisions.decision import Decision
from barnabas.controller.decisions.producer_id_blocks import decide_allocate_producer_ids
from barnabas.controller.producer_ids import ProducerIdSource
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.features import INITIAL_FEATURES
from barnabas.metadata.image import BROKER, EMPTY_IMAGE
from barnabas.metadata.records import NO_LEADER, PartitionChangeRecord
from barnabas.wire.errors import KafkaStorageError, StaleBrokerEpoch


def test_a_new_cluster_records_its_features_once() -> None:
    image = applied(EMPTY_IMAGE, decide_bootstrap(EMPTY_IMAGE, BrokerConfigs()))
    assert image.features == INITIAL_FEATURES
    # With eligible leader replicas the minimum of in-sync replicas is the cluster's own (KIP-966).
    assert image.configs.of(BROKER, "") == {"min.insync.replicas": "1"}
    assert decide_bootstrap(image, BrokerConfigs()).records == ()


def test_a_registered_broker_is_live_and_its_epoch_grows() -> None:
    image = cluster(1)
    broker = image.brokers[1]
    assert not broker.fenced
    assert broker.endpoints[0].host == "host1"
    decision = decide_register_broker(image, registration(1))
    assert decision.response > broker.epoch
    assert applied(image, decision).brokers[1].epoch == decision.response


@pytest.mark.parametrize(("clean", "leader_epoch"), [(True, 0), (False, 1)])
def test_after_an_unclean_stop_leaders_begin_a_new_epoch(clean: bool, leader_epoch: int) -> None:
    image = with_topics(cluster(1, 2), topic("t", assignments=[(1, 2), (2, 1)]))
    image = applied(image, decide_register_broker(image, registration(1, clean_shutdown=clean)))
    partitions = image.topics.by_name["t"].partitions
    assert [partitions[index].leader for index in (0, 1)] == [1, 2]
    assert [partitions[index].leader_epoch for index in (0, 1)] == [leader_epoch, 0]


@pytest.mark.parametrize(
    ("isr", "eligible", "last_known", "elected"),
    [
        ((1,), (), (), True),
        ((), (1, 2), (1,), True),
        ((), (), (1,), True),
        ((), (2,), (1,), False),
        ((2,), (1,), (), False),
        ((), (), (), False),
    ],
)
def test_a_partition_without_a_leader_gets_one_that_has_the_records(
    isr: tuple[int, ...], eligible: tuple[int, ...], last_known: tuple[int, ...], elected: bool
) -> None:
    image = with_topics(cluster(1, 2), topic("t", assignments=[(1, 2)]))
    change = PartitionChangeRecord(
        partition_id=0,
        topic_id=image.topics.by_name["t"].id,
        leader=NO_LEADER,
        isr=isr,
        eligible_leader_replicas=eligible,
        last_known_elr=last_known,
    )
    image = applied(image, Decision((change,), None))
    image = applied(image, decide_register_broker(image, registration(1)))
    partition = image.topics.by_name["t"].partitions[0]
    if elected:
        assert (partition.leader, partition.isr, partition.last_known_elr) == (1, (1,), ())
        assert 1 not in partition.eligible_leader_replicas
    else:
        assert (partition.leader, partition.isr) == (NO_LEADER, isr)


def test_a_broker_that_leaves_is_fenced_and_keeps_what_it_leads() -> None:
    image = with_topics(cluster(1), topic("t", assignments=[(1,)]))
    epoch = image.brokers[1].epoch
    assert decide_fence_broker(image, broker_id=1, broker_epoch=epoch - 1).records == ()
    left = applied(image, decide_fence_broker(image, broker_id=1, broker_epoch=epoch))
    assert left.brokers[1].fenced
    assert left.topics == image.topics
    assert decide_fence_broker(left, broker_id=1, broker_epoch=epoch).records == ()
    back = applied(left, decide_register_broker(left, registration(1)))
    assert not back.brokers[1].fenced
    assert not back.brokers[1].in_controlled_shutdown
    assert back.topics == image.topics


def test_producer_ids_come_in_blocks_that_never_overlap() -> None:
    image = cluster(1)
    epoch = image.brokers[1].epoch
    first = decide_allocate_producer_ids(image, broker_id=1, broker_epoch=epoch)
    second = decide_allocate_producer_ids(applied(image, first), broker_id=1, broker_epoch=epoch)
    assert (first.response, second.response) == (range(1000), range(1000, 2000))
    with pytest.raises(StaleBrokerEpoch):
        decide_allocate_producer_ids(image, broker_id=1, broker_epoch=epoch - 1)
    with pytest.raises(StaleBrokerEpoch):
        decide_allocate_producer_ids(image, broker_id=2, broker_epoch=epoch)


def test_producer_ids_are_handed_out_once_however_many_ask() -> None:
    async def scenario() -> None:
        blocks = iter([range(3), range(10, 20)])
        asked = 0

        async def allocate() -> range:
            nonlocal asked
            asked += 1
            await asyncio.sleep(0)
            return next(blocks)

        source = ProducerIdSource(allocate)
        ids = await asyncio.gather(*(source.next() for _ in range(8)))
        assert sorted(ids) == [0, 1, 2, 10, 11, 12, 13, 14]
        assert asked == 2

    asyncio.run(scenario())


def test_a_failed_allocation_is_told_and_tried_again() -> None:
    async def scenario() -> None:
        answers: list[range | Exception] = [KafkaStorageError("full"), range(5, 6)]

        async def allocate() -> range:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        source = ProducerIdSource(allocate)
        with pytest.raises(KafkaStorageError):
            await source.next()
        assert await source.next() == 5

    asyncio.run(scenario())
