"""The controller's shell: decisions in order, each based on an image that includes the ones before."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from cluster_images import code_of, registration, topic

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.create_topics import CreatedTopic
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
        codes = [code_of(outcome) for [outcome] in answers]
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
        assert code_of(created[0]) is code_of(deleted[0]) is ErrorCode.none
        assert isinstance(created_again[0], CreatedTopic)
        assert created_again[0].topic_id == log.image.topics.by_name["t"].id
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
        assert isinstance((await controller.create_topics(request("a")))[0], CreatedTopic)

    asyncio.run(scenario())


def test_an_internal_topic_takes_no_more_replicas_than_there_are_brokers() -> None:
    async def scenario() -> None:
        log = Committing()
        controller = log.controller(num_partitions="7")
        await controller.register_broker(registration(1))
        result = await controller.create_internal_topic(
            "__consumer_offsets", partitions=50, replication_factor=3, configs={"cleanup.policy": "compact"}
        )
        assert isinstance(result, CreatedTopic)
        assert (result.partition_count, result.replication_factor) == (50, 1)
        [plain] = await controller.create_topics(request("t"))
        assert isinstance(plain, CreatedTopic)
        assert plain.partition_count == 7

    asyncio.run(scenario())
