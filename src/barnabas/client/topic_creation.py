"""Creates topics that do not exist yet."""

from collections.abc import Iterable
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

_BROKERS_DEFAULT: Final = -1
_COMPACTED: Final = {
    "cleanup.policy": "compact",
    # It may be read completely, so it is kept small: small segments, compacted when a tenth is outdated.
    "segment.bytes": str(16 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
}


def create_topics(cluster: Cluster, partitions: Iterable[tuple[str, int]]) -> None:
    """Topics with so many partitions, and the brokers' defaults otherwise. Not an error if one exists."""
    _create(
        cluster,
        [
            CreatableTopic(name=name, num_partitions=count, replication_factor=_BROKERS_DEFAULT)
            for name, count in partitions
        ],
        "ask an administrator to create it: barnabas topic create {}",
    )


def create_compacted_topic(cluster: Cluster, name: str) -> None:
    """A topic of one partition in which a program stores its state, unless it exists."""
    if name in cluster.topics([name]):
        return
    configs = tuple(CreatableTopicConfig(name=key, value=value) for key, value in _COMPACTED.items())
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=_BROKERS_DEFAULT, configs=configs)
    _create(cluster, [topic], "ask an administrator to create it with one partition and cleanup.policy=compact")


def _create(cluster: Cluster, topics: Iterable[CreatableTopic], hint: str) -> None:
    for made in cluster.call("create_topics", CreateTopicsRequest(topics=tuple(topics))).topics:
        if made.error_code not in (ErrorCode.none, ErrorCode.topic_already_exists):
            raise Refused(
                made.error_code,
                f"the topic {made.name} cannot be created: {made.error_message or made.error_code.name.upper()}",
                hint.format(made.name),
            )
