"""The topics of a producer: looked up before the first batch, and created by the broker if it does that."""

import uuid
from collections.abc import Iterable
from typing import Any, Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError, Refused
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

_BROKER: Final = 4  # the kind of resource
_AUTO_CREATE: Final = "auto.create.topics.enable"
_NOT_YET: Final = frozenset({ErrorCode.unknown_topic_or_partition, ErrorCode.leader_not_available})


class Topics:
    """Metadata of topics, read again after `stale` was set."""

    def __init__(self, cluster: Cluster, *, max_block_s: float) -> None:
        self._cluster = cluster
        self._max_block_s = max_block_s
        self._known: dict[str, Any] = {}
        self._leaders: dict[tuple[str, int], int] = {}
        self.stale = False
        """A leader has moved."""

    def partition_count(self, name: str, *, refresh: bool = False) -> int:
        if refresh or name not in self._known:
            self._learn(find_topic(self._cluster, name, max_block_s=self._max_block_s))
        return len(self._known[name].partitions)

    def leader(self, name: str, partition: int) -> int:
        """Its node id, or -1."""
        return self._leaders.get((name, partition), -1)

    def ids(self, names: Iterable[str]) -> dict[str, uuid.UUID]:
        return {name: self._known[name].topic_id for name in names}

    def refresh(self) -> None:
        if self.stale:
            for topic in self._cluster.topics(self._known).values():
                self._learn(topic)
            self.stale = False

    def _learn(self, topic: Any) -> None:
        self._known[topic.name] = topic
        for partition in topic.partitions:
            self._leaders[topic.name, partition.partition_index] = partition.leader_id


def find_topic(cluster: Cluster, name: str, *, max_block_s: float) -> Any:
    """A topic's metadata. A missing topic is created if the broker does that; Refused if it stays missing.

    A broker that is creating a topic and one that never will give the same response, so its config is read too.
    """
    retry = cluster.retry_policy(max_block_s)
    request = MetadataRequest(topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=True)
    asked_for_creation = False
    while True:
        (topic,) = cluster.call("metadata", request).topics
        if topic.error_code == ErrorCode.none:
            # again through the cluster, which remembers leaders and addresses
            found = cluster.topics([name]).get(name)
            if found is not None:
                return found
        elif topic.error_code not in _NOT_YET:
            raise Refused(topic.error_code, f"the topic {name!r} cannot be written to: {topic.error_code.name}")
        elif topic.error_code == ErrorCode.unknown_topic_or_partition and not asked_for_creation:
            asked_for_creation = True
            if not _creates_topics(cluster):
                raise _missing(name, f"and the broker does not create topics ({_AUTO_CREATE} is false)")
        if not retry.wait():
            raise _missing(name, f"and none appeared in {max_block_s:g} s (max.block.ms)")


def _creates_topics(cluster: Cluster) -> bool:
    """By the broker's config; True if it cannot be read."""
    try:
        node = cluster.brokers().brokers[0].broker_id
        resource = DescribeConfigsResource(
            resource_type=_BROKER, resource_name=str(node), configuration_keys=(_AUTO_CREATE,)
        )
        answer = cluster.call("describe_configs", DescribeConfigsRequest(resources=(resource,)), node=node)
    except ClientError:  # not allowed or not served
        return True
    values = [config.value for result in answer.results for config in result.configs if config.name == _AUTO_CREATE]
    return values != ["false"]


def _missing(name: str, reason: str) -> Refused:
    return Refused(
        ErrorCode.unknown_topic_or_partition,
        f"there is no topic {name!r}, {reason}",
        f"create it first (barnabas topic create {name}), or correct the name",
    )
