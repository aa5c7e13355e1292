"""The controller's shell: decisions in order, each based on an image that includes the ones before."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from cluster_images import registration, topic

from barnabas.controller.controller import Controller
from barnabas.metadata.delta import replay
from barnabas.metadata.image import EMPTY_IMAGE
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.errors import ErrorCode, KafkaStorageError
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest


class Committing:
    """A metadata log that commits after a few iterations of the event loop."""

    def __init__(self) -> None:
        self.image = EMPTY_IMAGE
        self.committing = 0
        self.failure: Exception | None = None

    async def propose(self, records: Sequence[MetadataRecord]) -> None:
        assert self.committing == 0, "two proposals at once"
        self.committing += 1
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            if self.failure is not None:
                raise self.failure
            self.image, _ = replay(self.image, records, offset=self.image.offset + len(records))
        finally:
            self.committing -= 1

    def controller(self, **static: str) -> Controller:
        return Controller(
            node_id=1,
            image=lambda: self.image,
            propose=self.propose,
            static_configs={name.replace("_", "."): value for name, value in static.items()},
            rng=random.Random(5),
        )


def request(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=(topic(name),))


def test_of_two_that_create_the_same_topic_one_is_told_it_exists() -> None:
    async def scenario() -> None:
        log = Committing()
        controller = log.controller()
        await controller.register_broker(registration(1))
        answers = await asyncio.gather(*(controller.create_topics(request("t")) for _ in range(3)))
        codes = [answer.topics[0].error_code for answer in answers]
        assert codes == [ErrorCode.none, ErrorCode.topic_already_exists, ErrorCode.topic_already_exists]

    asyncio.run(scenario())


def test_operations_take_effect_in_the_order_of_their_calls() -> None:
    async def scenario() -> None:
        log = Committing()
        controller = log.controller()
        epoch = await controller.register_broker(registration(1))
        created, deleted, created_again, ids = await asyncio.gather(
            controller.create_topics(request("t")),
            controller.delete_topics(DeleteTopicsRequest(topic_names=("t",))),
            controller.create_topics(request("t")),
            controller.allocate_producer_ids(broker_id=1, broker_epoch=epoch),
        )
        assert created.topics[0].error_code is ErrorCode.none
        assert deleted.responses[0].error_code is ErrorCode.none
        assert created_again.topics[0].topic_id == log.image.topics.by_name["t"].id
        assert ids == range(1000)

    asyncio.run(scenario())


def test_a_caller_that_gives_up_disturbs_nobody() -> None:
    async def scenario() -> None:
        log = Committing()
        controller = log.controller()
        await controller.register_broker(registration(1))
        first = asyncio.create_task(controller.create_topics(request("a")))
        second = asyncio.create_task(controller.create_topics(request("b")))
        third = asyncio.create_task(controller.create_topics(request("c")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        await third
        assert set(log.image.topics.by_name) == {"a", "c"}

    asyncio.run(scenario())


def test_a_failed_commit_fails_its_own_request_only() -> None:
    async def scenario() -> None:
        log = Committing()
        controller = log.controller()
        await controller.register_broker(registration(1))
        log.failure = KafkaStorageError("the disk is full")
        with pytest.raises(KafkaStorageError):
            await controller.create_topics(request("a"))
        log.failure = None
        assert (await controller.create_topics(request("a"))).topics[0].error_code is ErrorCode.none

    asyncio.run(scenario())


def test_an_internal_topic_takes_no_more_replicas_than_there_are_brokers() -> None:
    async def scenario() -> None:
        log = Committing()
        controller = log.controller(num_partitions="7")
        await controller.register_broker(registration(1))
        result = await controller.create_internal_topic(
            "__consumer_offsets", partitions=50, replication_factor=3, configs={"cleanup.policy": "compact"}
        )
        assert result.error_code is ErrorCode.none
        assert (result.num_partitions, result.replication_factor) == (50, 1)
        plain = await controller.create_topics(request("t"))
        assert plain.topics[0].num_partitions == 7

    asyncio.run(scenario())
