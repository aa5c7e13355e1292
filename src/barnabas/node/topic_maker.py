"""Creates internal topics, and topics that clients use without having created them."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Final, NamedTuple

from barnabas.controller.controller import Controller
from barnabas.env import Workers
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.image import ClusterImage
from barnabas.model import INTERNAL_TOPICS, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from barnabas.wire.errors import CoordinatorNotAvailable, KafkaError, TopicAlreadyExists


class _InternalTopic(NamedTuple):
    broker_configs: str
    """The prefix of the broker configs for its partitions and replicas."""
    from_broker: Mapping[str, str]
    """Topic configs that are taken from broker configs."""
    fixed: Mapping[str, str]
    coordinator: str
    """The module that will be needed for its first record."""


_INTERNAL_TOPICS: Final = {
    OFFSETS_TOPIC: _InternalTopic(
        "offsets.topic.",
        {"segment.bytes": "offsets.topic.segment.bytes"},
        {"cleanup.policy": "compact", "compression.type": "producer"},
        "barnabas.coordinator.group_coordinator",
    ),
    TRANSACTIONS_TOPIC: _InternalTopic(
        "transaction.state.log.",
        {
            "segment.bytes": "transaction.state.log.segment.bytes",
            "min.insync.replicas": "transaction.state.log.min.isr",
        },
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
        },
        "barnabas.coordinator.txn_coordinator",
    ),
    SHARE_STATE_TOPIC: _InternalTopic(
        "share.coordinator.state.topic.",
        {
            "segment.bytes": "share.coordinator.state.topic.segment.bytes",
            "min.insync.replicas": "share.coordinator.state.topic.min.isr",
        },
        {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
        "barnabas.coordinator.share_coordinator",
    ),
}


class TopicMaker:
    def __init__(
        self,
        controller: Controller,
        image: Callable[[], ClusterImage],
        configs: Callable[[], BrokerConfigs],
        workers: Workers,
    ) -> None:
        self._controller = controller
        self._workers = workers
        self._image = image
        self._configs = configs

    async def ensure_internal(self, name: str) -> None:
        if name in self._image().topics.by_name:
            return
        topic = _INTERNAL_TOPICS[name]
        # Importing some hundred files takes a tenth of a second: not on the loop.
        await self._workers.run(partial(import_module, topic.coordinator))
        configs = self._configs()
        outcome = await self._controller.create_internal_topic(
            name,
            partitions=configs.integer(f"{topic.broker_configs}num.partitions"),
            replication_factor=configs.integer(f"{topic.broker_configs}replication.factor"),
            configs={
                **topic.fixed,
                **{own: str(configs.integer(brokers)) for own, brokers in topic.from_broker.items()},
            },
        )
        if isinstance(outcome, KafkaError) and not isinstance(outcome, TopicAlreadyExists):
            raise CoordinatorNotAvailable(f"{name} cannot be created: {outcome}")

    async def auto_create(self, name: str) -> KafkaError | None:
        """Create a topic that a metadata request named, with the broker's default partitions and replicas.

        Returns why it cannot be created. That it exists already is no error.
        """
        if name in INTERNAL_TOPICS:
            await self.ensure_internal(name)
            return None
        from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

        topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
        (outcome,) = await self._controller.create_topics(CreateTopicsRequest(topics=(topic,)))
        return outcome if isinstance(outcome, KafkaError) and not isinstance(outcome, TopicAlreadyExists) else None
