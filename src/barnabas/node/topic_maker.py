"""Topics that nobody created by hand: the broker's own, and those a client merely asked for."""

from collections.abc import Callable
from typing import Final

from barnabas.controller.controller import Controller
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.image import ClusterImage
from barnabas.wire.errors import CoordinatorNotAvailable, ErrorCode

OFFSETS_TOPIC: Final = "__consumer_offsets"
_MADE: Final = frozenset({ErrorCode.none, ErrorCode.topic_already_exists})


class TopicMaker:
    def __init__(
        self, controller: Controller, image: Callable[[], ClusterImage], configs: Callable[[], BrokerConfigs]
    ) -> None:
        self._controller = controller
        self._image = image
        self._configs = configs

    async def ensure_internal(self, name: str) -> None:
        if name in self._image().topics.by_name:
            return
        if name != OFFSETS_TOPIC:
            raise CoordinatorNotAvailable(f"{name} belongs to a feature that this broker does not have yet")
        result = await self._controller.create_internal_topic(
            name,
            partitions=self._configs().integer("offsets.topic.num.partitions"),
            replication_factor=self._configs().integer("offsets.topic.replication.factor"),
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(self._configs().integer("offsets.topic.segment.bytes")),
            },
        )
        if result.error_code not in _MADE:
            raise CoordinatorNotAvailable(f"{name} cannot be created: {result.error_message}")

    async def auto_create(self, name: str) -> ErrorCode:
        """With the broker's defaults for partitions and replicas, as a client's metadata request asks for it."""
        if name == OFFSETS_TOPIC:
            await self.ensure_internal(name)
            return ErrorCode.none
        from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

        topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
        response = await self._controller.create_topics(CreateTopicsRequest(topics=(topic,)))
        return response.topics[0].error_code
