"""The current state of the archived topic in the cluster."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final
from uuid import UUID

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.settings import READ_COMMITTED
from barnabas.history.errors import HistoryError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

_TOPIC_RESOURCE: Final = 2
_POLICY: Final = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class TopicFacts:
    topic_id: str | None
    log_start: dict[int, int]
    """By partition."""
    last_stable: dict[int, int]
    """All transactions before it are committed or aborted, and all records are replicated."""


def facts_of(cluster: Cluster, topic: str) -> TopicFacts:
    """HistoryError if the topic does not exist, or cannot be archived."""
    found = cluster.topics([topic]).get(topic)
    if found is None:
        close = get_close_matches(topic, cluster.topics(), n=1)
        raise HistoryError(
            f"There is no topic {topic} on {cluster.settings.bootstrap_servers}",
            f"did you mean {close[0]}?" if close else f"create it first: barnabas topic create {topic}",
        )
    _refuse_compacted(cluster, topic)
    partitions = [partition.partition_index for partition in found.partitions]
    return TopicFacts(
        str(found.topic_id) if found.topic_id and found.topic_id != UUID(int=0) else None,
        _offsets(cluster, topic, partitions, EARLIEST),
        _offsets(cluster, topic, partitions, LATEST),
    )


def _refuse_compacted(cluster: Cluster, topic: str) -> None:
    """A compacted topic cannot be archived: records are removed from it at any offset."""
    asked = DescribeConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=topic, configuration_keys=(_POLICY,))
    (result,) = cluster.call("describe_configs", DescribeConfigsRequest(resources=(asked,))).results
    if result.error_code is not ErrorCode.none:
        raise Refused(
            result.error_code,
            f"{_POLICY} of {topic} cannot be read ({result.error_code.name.upper()}), and a compacted topic cannot be "
            "archived: let this user describe the topic's configs",
        )
    policy = next((config.value or "" for config in result.configs if config.name == _POLICY), "")
    if "compact" in policy.split(","):
        raise HistoryError(
            f"The topic {topic} is compacted ({_POLICY}={policy}): records are removed at any offset, so no file could "
            "be complete",
            f"archive topics with {_POLICY}=delete; read a compacted one directly instead",
        )


def _offsets(cluster: Cluster, topic: str, partitions: Iterable[int], which: int) -> dict[int, int]:
    places = [(topic, partition) for partition in partitions]
    found = cluster.offsets(places, which, isolation_level=READ_COMMITTED if which == LATEST else 0)
    for (_, partition), offset in found.items():
        if offset.error is not ErrorCode.none:
            raise Refused(offset.error, f"no offsets of {topic}-{partition}: {offset.error.name.upper()}")
    return {partition: offset.offset for (_, partition), offset in found.items()}
