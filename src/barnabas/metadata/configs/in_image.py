"""Reads the configs of brokers and topics from a cluster image."""

from collections.abc import Mapping

from barnabas.metadata.configs.effective import BrokerConfigs
from barnabas.metadata.configs.topic_settings import TopicSettings, resolve_topic_settings
from barnabas.metadata.image import BROKER, TOPIC, ClusterImage


def broker_configs_in(image: ClusterImage, node_id: int, static: Mapping[str, str]) -> BrokerConfigs:
    return BrokerConfigs(
        static=static,
        dynamic_default=image.configs.of(BROKER, ""),
        dynamic=image.configs.of(BROKER, str(node_id)),
    )


def topic_settings_in(image: ClusterImage, topic: str, broker: BrokerConfigs) -> TopicSettings:
    return resolve_topic_settings(image.configs.of(TOPIC, topic), broker)
