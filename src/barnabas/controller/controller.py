"""The controller's shell: makes one decision after another, and commits each before the next.

Every decision sees an image with all earlier decisions. So of two concurrent requests to create the same topic, one
gets TOPIC_ALREADY_EXISTS. A single task works through a queue: it decides, proposes the records, waits until they are
committed and in the image, answers, and takes the next request. The task runs while there is work. A cancelled caller
does not affect it: what was decided is committed anyway.

What a broker needs to start and to get its first records is imported with this module, the rest on first use.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.controller.decisions.brokers import (
    BrokerRegistration,
    decide_bootstrap,
    decide_fence_broker,
    decide_register_broker,
)
from barnabas.controller.decisions.create_topics import CreatedTopic, decide_create_topics
from barnabas.controller.decisions.decision import Decision, Outcome, Spend, unlimited
from barnabas.controller.decisions.producer_id_blocks import decide_allocate_producer_ids
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.configs.in_image import broker_configs_in
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

if TYPE_CHECKING:
    from barnabas.wire.messages.alter_configs import AlterConfigsRequest
    from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
    from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
    from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

R = TypeVar("R")
Decide = Callable[[ClusterImage], Decision[R]]


class Controller:
    def __init__(
        self,
        *,
        node_id: int,
        image: Callable[[], ClusterImage],
        propose: Callable[[Sequence[MetadataRecord]], Awaitable[None]],
        static_configs: Mapping[str, str],
        rng: random.Random,
    ) -> None:
        """`propose` returns when the records are committed and in `image`."""
        self._node_id = node_id
        self._image = image
        self._propose = propose
        self._static_configs = static_configs
        self._rng = rng
        self._queue: deque[tuple[Decide[Any], asyncio.Future[Any]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def create_topics(
        self, request: CreateTopicsRequest, spend: Spend = unlimited
    ) -> Sequence[CreatedTopic | KafkaError]:
        return await self._submit(
            lambda image: decide_create_topics(image, request, configs=self._configs(image), rng=self._rng, spend=spend)
        )

    async def create_internal_topic(
        self, name: str, *, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> CreatedTopic | KafkaError:
        """With no more replicas than there are brokers: a single node must not require three."""

        def decide(image: ClusterImage) -> Decision[Sequence[CreatedTopic | KafkaError]]:
            live = sum(not broker.fenced for broker in image.brokers.values())
            topic = CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=max(1, min(replication_factor, live)),
                configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs.items()),
            )
            request = CreateTopicsRequest(topics=(topic,))
            return decide_create_topics(image, request, configs=self._configs(image), rng=self._rng, for_broker=True)

        return (await self._submit(decide))[0]

    async def delete_topics(
        self, request: DeleteTopicsRequest, spend: Spend = unlimited
    ) -> Sequence[TopicImage | KafkaError]:
        from barnabas.controller.decisions.delete_topics import decide_delete_topics

        return await self._submit(
            lambda image: decide_delete_topics(image, request, configs=self._configs(image), spend=spend)
        )

    async def create_partitions(self, request: CreatePartitionsRequest, spend: Spend = unlimited) -> Sequence[Outcome]:
        from barnabas.controller.decisions.create_partitions import decide_create_partitions

        return await self._submit(lambda image: decide_create_partitions(image, request, rng=self._rng, spend=spend))

    async def alter_configs(self, request: AlterConfigsRequest) -> Sequence[Outcome]:
        from barnabas.controller.decisions.alter_configs import decide_alter_configs

        return await self._submit(lambda image: decide_alter_configs(image, request, configs=self._configs(image)))

    async def incremental_alter_configs(self, request: IncrementalAlterConfigsRequest) -> Sequence[Outcome]:
        from barnabas.controller.decisions.alter_configs import decide_incremental_alter_configs

        return await self._submit(
            lambda image: decide_incremental_alter_configs(image, request, configs=self._configs(image))
        )

    async def decide(self, decide: Decide[R]) -> R:
        """Any other decision."""
        return await self._submit(decide)

    async def allocate_producer_ids(self, *, broker_id: int, broker_epoch: int) -> range:
        return await self._submit(
            lambda image: decide_allocate_producer_ids(image, broker_id=broker_id, broker_epoch=broker_epoch)
        )

    async def register_broker(self, registration: BrokerRegistration) -> int:
        """Returns the broker's epoch. A new cluster gets its feature levels first."""
        await self._submit(lambda image: decide_bootstrap(image, self._configs(image)))
        return await self._submit(lambda image: decide_register_broker(image, registration))

    async def fence_broker(self, *, broker_id: int, broker_epoch: int) -> None:
        await self._submit(lambda image: decide_fence_broker(image, broker_id=broker_id, broker_epoch=broker_epoch))

    def _configs(self, image: ClusterImage) -> BrokerConfigs:
        return broker_configs_in(image, self._node_id, self._static_configs)

    def _submit(self, decide: Decide[R]) -> asyncio.Future[R]:
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queue.append((decide, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return answer

    async def _work(self) -> None:
        try:
            while self._queue:
                decide, answer = self._queue.popleft()
                if answer.cancelled():
                    continue
                try:
                    decision = decide(self._image())
                    if decision.records:
                        await self._propose(decision.records)
                except Exception as error:
                    # The error belongs to this request; its caller answers the client, or reports a defect.
                    if not answer.cancelled():
                        answer.set_exception(error)
                else:
                    if not answer.cancelled():
                        answer.set_result(decision.response)
        finally:
            self._task = None
            while self._queue:  # the task was cancelled: nothing else will answer these
                self._queue.popleft()[1].cancel()
