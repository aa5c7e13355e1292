"""The current partitions of a read: what the user asked for, as far as it exists."""

import logging
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from barnabas.client.cluster import Cluster
from barnabas.model import TopicPartition
from barnabas.spark import pointer
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest
from barnabas.spark.options.positions import named_partitions
from barnabas.spark.options.subscription import Assign, PipelineFlow, Subscribe, Subscription

_log = logging.getLogger(__name__)

_NO_ID = uuid.UUID(int=0)


@dataclass(frozen=True)
class Assigned:
    """The partitions of a read, with what the same response says about them."""

    partitions: frozenset[TopicPartition]
    leaders: Mapping[TopicPartition, int]
    ids: Mapping[str, str]
    """By topic; empty if the broker has no topic ids."""


class MissingTopic(UserError):
    """It does not exist, or was just created, and not every broker knows it yet."""


class Topics:
    """Asks the cluster, or remembers for as long as `partition.metadata.cache.ttl.ms` allows."""

    def __init__(
        self, subscription: Subscription, *, cache_ms: int = 0, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._subscription = subscription
        self._cache_s = cache_ms / 1000
        self._now_s = now_s
        self._asked_s = 0.0
        self._last: Assigned | None = None
        self._missing: frozenset[TopicPartition] = frozenset()
        """Warned about already."""

    def assigned(self, cluster: Cluster, *, missing_is_fine: bool = False) -> Assigned:
        """`missing_is_fine`: a topic that does not exist has no partitions, instead of being an error."""
        now_s = self._now_s()
        if self._last is None or now_s - self._asked_s >= self._cache_s:
            self._last = _assigned(cluster, self._subscription, missing_is_fine)
            self._asked_s = now_s
            self._warn_missing(self._last)
        return self._last

    def forget(self) -> None:
        self._last = None

    def _warn_missing(self, assigned: Assigned) -> None:
        """The connector ignores missing partitions silently."""
        if isinstance(self._subscription, Assign):
            missing = frozenset(self._subscription.partitions) - assigned.partitions
            if missing - self._missing:
                _log.warning(
                    "The option assign names %s, which do not exist and are not read.", named_partitions(set(missing))
                )
            self._missing = missing


def _assigned(cluster: Cluster, subscription: Subscription, missing_is_fine: bool) -> Assigned:
    if isinstance(subscription, PipelineFlow):
        topic = pointer.get(cluster, subscription.pipeline).topic(subscription.flow)
        return _described(_existing(cluster, [topic], missing_is_fine), lambda _: True)
    if isinstance(subscription, Subscribe):
        found = _existing(cluster, subscription.topics, missing_is_fine)
        return _described(found, lambda _: True)
    if isinstance(subscription, Assign):
        wanted = set(subscription.partitions)
        found = _existing(cluster, sorted({partition.topic for partition in wanted}), missing_is_fine)
        return _described(found, wanted.__contains__)
    pattern = re.compile(subscription.pattern)
    names = {name: topic for name, topic in cluster.topics().items() if not topic.is_internal and pattern.search(name)}
    return _described(names, lambda _: True)


def _existing(cluster: Cluster, names: Sequence[str], missing_is_fine: bool) -> dict[str, Any]:
    found = cluster.topics(names)
    missing = [name for name in names if name not in found]
    if missing and not missing_is_fine:
        meant = nearest(missing[0], cluster.topics())
        raise MissingTopic(
            f"There is no topic {missing[0]}{_others(missing[1:])} on {cluster.settings.bootstrap_servers}.",
            f"did you mean {meant}?"
            if meant
            else f"create it first (barnabas topic create {missing[0]}), or correct its name",
        )
    return found


def _others(names: list[str]) -> str:
    return f", nor {', '.join(names)}," if names else ""


def _described(found: Mapping[str, Any], wanted: Callable[[TopicPartition], bool]) -> Assigned:
    leaders = {
        place: partition.leader_id
        for name, topic in found.items()
        for partition in topic.partitions
        if wanted(place := TopicPartition(name, partition.partition_index))
    }
    ids = {
        name: str(topic.topic_id)
        for name, topic in found.items()
        if topic.topic_id is not None and topic.topic_id != _NO_ID
    }
    return Assigned(frozenset(leaders), leaders, ids)
