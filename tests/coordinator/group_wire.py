"""Group handlers over the wire: requests and responses are encoded in a version."""

import asyncio
import importlib
import inspect
import random
import uuid
from collections.abc import Callable, Coroutine
from functools import wraps
from types import SimpleNamespace
from typing import Any, cast

from memory_log import MemoryLog

from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.env import InlineWorkers
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.services import Cluster, Services, bind
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.features import GROUP_VERSION
from barnabas.metadata.image import (
    BrokerImage,
    ClusterImage,
    Endpoint,
    PartitionImage,
    TopicImage,
    TopicsImage,
)
from barnabas.testing.clock import VirtualClock
from barnabas.wire.codec import decode_request, decode_response, encode_request, encode_response
from barnabas.wire.errors import KafkaError

TOPIC_ID = uuid.UUID(int=7)


def partition_image() -> PartitionImage:
    return PartitionImage(
        replicas=(1,), directories=(uuid.UUID(int=9),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
    )


def topics_image(**partition_counts: int) -> TopicsImage:
    topics = [
        TopicImage(
            id=TOPIC_ID if name == "t" else uuid.uuid4(),
            name=name,
            partitions={index: partition_image() for index in range(count)},
        )
        for name, count in partition_counts.items()
    ]
    return TopicsImage(by_id={each.id: each for each in topics}, by_name={each.name: each for each in topics})


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class Wire:
    """One broker that coordinates all groups. `send` answers; `start` does not wait."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.clock = VirtualClock()
        self.groups = GroupCoordinator(
            log=self.log,
            clock=self.clock,
            random_bytes=random.Random(0).randbytes,
            settings=GroupSettings(initial_rebalance_delay_ms=0),
            partition_count=1,
            workers=InlineWorkers(),
            image=lambda: self.cluster.image,
        )
        endpoint = Endpoint("PLAINTEXT", "broker.example", 9092, 0)
        self.image = ClusterImage(
            topics=topics_image(t=3),
            brokers={1: BrokerImage(id=1, epoch=1, endpoints=(endpoint,), fenced=False)},
            features={GROUP_VERSION: 1},
        )
        self.refuse_topic: KafkaError | None = None
        self.cluster = Cluster(1, "cluster", self.image, BrokerConfigs())
        unused = None  # there are no share groups
        services = SimpleNamespace(cluster=self.cluster, groups=self.groups, topic_maker=self, share=unused)
        self._services = cast(Services, services)

    async def ensure_internal(self, name: str) -> None:
        if self.refuse_topic is not None:
            raise self.refuse_topic
        self.cluster.image = ClusterImage(topics=topics_image(t=3, **{name: 1}), brokers=self.image.brokers)

    async def send(self, api: str, version: int, request: object) -> Any:
        context = RequestContext(
            client=ClientConnection("10.0.0.9", 5000, "PLAINTEXT", "127.0.0.1"),
            api_version=version,
            requested_version=version,
            client_id="app",
        )
        decoded = decode_request(api, version, encode_request(api, version, request), 0)
        response = bind(importlib.import_module(f"barnabas.handlers.{api}").handle, self._services)(context, decoded)
        if inspect.isawaitable(response):
            response = await response
        return decode_response(api, version, encode_response(api, version, response), 0)

    async def start(self, api: str, version: int, request: object) -> "asyncio.Task[Any]":
        task = asyncio.create_task(self.send(api, version, request))
        await self.clock.settle()
        return task
