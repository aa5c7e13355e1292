"""The controller's shell: takes decisions one after another and lets each be committed before the next.

A decision is taken against the image that holds everything decided before it. So two requests that create the same
topic at the same time yield one topic and one TOPIC_ALREADY_EXISTS. The order is kept by one task that works through a
queue: it decides, proposes, waits until the records are committed and in the image, answers, and takes the next. The
task lives while there is work. A caller that gives up does not disturb it; what was decided is committed all the same.

What a broker needs to start and to take its first records is imported with this module, the rest when it is asked for.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.controller.brokers import (
    BrokerRegistration,
    decide_bootstrap,
    decide_fence_broker,
    decide_register_broker,
)
from barnabas.controller.create_topics import decide_create_topics
from barnabas.controller.decision import Decision, Spend, unlimited
from barnabas.controller.producer_id_blocks import decide_allocate_producer_ids
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.configs.in_image import broker_configs_in
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
    from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
    from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
    from barnabas.wire.messages.incremental_alter_configs import (
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )

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
        """`propose` returns when the records are committed and `image` contains them."""
        self._node_id = node_id
        self._image = image
        self._propose = propose
        self._static_configs = static_configs
        self._rng = rng
        self._queue: deque[tuple[Decide[Any], asyncio.Future[Any]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def create_topics(self, request: CreateTopicsRequest, spend: Spend = unlimited) -> CreateTopicsResponse:
        return await self._submit(
            lambda image: decide_create_topics(image, request, configs=self._configs(image), rng=self._rng, spend=spend)
        )

    async def create_internal_topic(
        self, name: str, *, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> CreatableTopicResult:
        """With at most as many replicas as there are brokers: a single node must not demand three."""

        def decide(image: ClusterImage) -> Decision[CreateTopicsResponse]:
            live = sum(not broker.fenced for broker in image.brokers.values())
            topic = CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=max(1, min(replication_factor, live)),
                configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs.items()),
            )
            request = CreateTopicsRequest(topics=(topic,))
            return decide_create_topics(image, request, configs=self._configs(image), rng=self._rng, for_broker=True)

        return (await self._submit(decide)).topics[0]

    async def delete_topics(self, request: DeleteTopicsRequest, spend: Spend = unlimited) -> DeleteTopicsResponse:
        from barnabas.controller.delete_topics import decide_delete_topics

        return await self._submit(
            lambda image: decide_delete_topics(image, request, configs=self._configs(image), spend=spend)
        )

    async def create_partitions(
        self, request: CreatePartitionsRequest, spend: Spend = unlimited
    ) -> CreatePartitionsResponse:
        from barnabas.controller.create_partitions import decide_create_partitions

        return await self._submit(lambda image: decide_create_partitions(image, request, rng=self._rng, spend=spend))

    async def alter_configs(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        from barnabas.controller.alter_configs import decide_alter_configs

        return await self._submit(lambda image: decide_alter_configs(image, request, configs=self._configs(image)))

    async def incremental_alter_configs(
        self, request: IncrementalAlterConfigsRequest
    ) -> IncrementalAlterConfigsResponse:
        from barnabas.controller.alter_configs import decide_incremental_alter_configs

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
        """The broker's epoch. A new cluster gets its feature levels first."""
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
                    # Whatever went wrong belongs to this request; its caller tells the client or reports our bug.
                    if not answer.cancelled():
                        answer.set_exception(error)
                else:
                    if not answer.cancelled():
                        answer.set_result(decision.response)
        finally:
            self._task = None
            while self._queue:  # the task was cancelled: nobody else will answer these
                self._queue.popleft()[1].cancel()
