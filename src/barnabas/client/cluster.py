"""A cluster: one blocking call per request, sent to the broker that can answer it.

It adds what a plain connection lacks: the newest version that both sides know, the leaders of partitions, the
coordinators of groups, and retries. While brokers restart and leaders move, reads and idempotent requests are retried
until a deadline (default.api.timeout.ms). A broken connection is dropped and opened again.

Not thread-safe. Connects on first use.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self, TypeVar

from barnabas.client.connection import Connection
from barnabas.client.errors import (
    CannotConnect,
    ClosedOnFirstRequest,
    ConnectionClosed,
    Refused,
    RequestTimedOut,
    check,
)
from barnabas.client.node import Node
from barnabas.client.nodes import Nodes
from barnabas.client.offsets import Offset, Partition, list_offsets
from barnabas.client.retrying import COORDINATOR_BUSY, REPEATABLE, RetryPolicy, error_codes
from barnabas.client.settings import ClientSettings
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

T = TypeVar("T")

GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators."""

UNKNOWN_TOPIC_RETRY_S: Final = 5.0
"""A new topic may be unknown to a broker for a moment; one that stays unknown does not exist."""

_DISCONNECTS_MAX: Final = 5
"""In one call. A broker that crashes disconnects once; one that wants a login does so every time."""

_UNREACHABLE: Final = (CannotConnect, ConnectionClosed, RequestTimedOut)


class Cluster:
    def __init__(self, settings: ClientSettings, *, retry_for_s: float | None = None) -> None:
        """`retry_for_s`: how long each call retries, instead of the settings' `api_timeout_s`; 0 for no retries."""
        self.settings = settings
        self.retry_for_s = settings.api_timeout_s if retry_for_s is None else retry_for_s
        self._nodes = Nodes(settings)
        self._leaders: dict[Partition, int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    def call(self, api_name: str, request: object, *, node: int | None = None) -> Any:
        """Send a request to this broker, or to any of them."""
        return self._with_retries(api_name, node, lambda: self.call_once(api_name, request, node=node))

    def call_once(self, api_name: str, request: object, *, node: int | None = None) -> Any:
        """Without retries, for callers that decide themselves what to do when the connection breaks."""
        self._locate(node)
        return self._nodes.free(node).call(api_name, request)

    def version(self, api_name: str, *, node: int | None = None, newest: int | None = None) -> int:
        """The newest version that both sides speak, and none after `newest`; UnsupportedApi if there is none."""
        return self._described(node, lambda found: found.version(api_name, newest))

    def serves(self, api_name: str, *, node: int | None = None) -> bool:
        """Whether the broker knows the API in a version that we speak."""
        return self._described(node, lambda found: found.serves(api_name))

    def api_versions(self, node: int | None = None) -> Any:
        """The broker's ApiVersions response: its versions and its features."""
        return self._described(node, lambda found: found.described)

    def connection(self, node: int) -> Connection:
        """The connection to a broker, for pipelined requests. Connects once, without retries."""
        self._locate(node)
        return self._nodes.broker(node).connection

    def brokers(self) -> Any:
        """DescribeCluster: the cluster's id, its controller and its brokers."""
        answer = self.call("describe_cluster", DescribeClusterRequest())
        check(answer.error_code, answer.error_message)
        self._nodes.learn((broker.broker_id, broker.host, broker.port) for broker in answer.brokers)
        return answer

    def topics(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Metadata by name, of all topics or of these; topics that do not exist are left out."""
        asked = None if names is None else tuple(MetadataRequestTopic(name=name) for name in dict.fromkeys(names))
        retry = self.retry_policy()
        while True:
            answer = self.call("metadata", MetadataRequest(topics=asked, allow_auto_topic_creation=False))
            self._nodes.learn((broker.node_id, broker.host, broker.port) for broker in answer.brokers)
            codes = {topic.error_code for topic in answer.topics}
            if ErrorCode.leader_not_available not in codes or not retry.wait():
                break
        for topic in answer.topics:
            if topic.error_code == ErrorCode.topic_authorization_failed:
                raise Refused(topic.error_code, f"this user may not see the topic {topic.name}")
        found = {topic.name: topic for topic in answer.topics if topic.error_code == ErrorCode.none}
        for topic in found.values():
            for partition in topic.partitions:
                self._leaders[topic.name, partition.partition_index] = partition.leader_id
        return found

    def leader(self, topic: str, partition: int, *, refresh: bool = False) -> int:
        """The node id of the partition's leader; Refused if it has none in time, or does not exist."""
        known = self._leaders.get((topic, partition))
        if known is not None and known >= 0 and not refresh:
            return known
        retry, retry_unknown = self.retry_policy(), self.retry_policy(UNKNOWN_TOPIC_RETRY_S)
        while True:
            self._leaders.pop((topic, partition), None)
            self.topics([topic])
            known = self._leaders.get((topic, partition))
            if known is not None and known >= 0:
                return known
            if known is None and not retry_unknown.wait():
                raise Refused(ErrorCode.unknown_topic_or_partition, f"there is no partition {topic}-{partition}")
            if known is not None and not retry.wait():
                raise Refused(ErrorCode.leader_not_available, f"{topic}-{partition} has no leader")

    def by_leader(self, partitions: Iterable[Partition]) -> dict[int | None, list[Partition]]:
        """Grouped by the node id of their leaders; None for those that do not exist, -1 for those without leader."""
        partitions = list(partitions)
        existing = {
            (topic.name, partition.partition_index): partition.leader_id
            for topic in self.topics({topic for topic, _ in partitions}).values()
            for partition in topic.partitions
        }
        grouped: dict[int | None, list[Partition]] = {}
        for place in partitions:
            grouped.setdefault(existing.get(place), []).append(place)
        return grouped

    def offsets(
        self,
        partitions: Iterable[Partition],
        timestamp: int | Mapping[Partition, int],
        *,
        isolation_level: int = 0,
    ) -> dict[Partition, Offset]:
        """ListOffsets, at each partition's leader. A partition that does not exist answers with its error."""
        return list_offsets(self, partitions, timestamp, isolation_level=isolation_level)

    def coordinator(self, key: str, *, kind: int = GROUP) -> Any:
        """Its node id, host and port; of a group, or of a transactional id."""
        request = FindCoordinatorRequest(coordinator_keys=(key,), key=key, key_type=kind)
        retry = self.retry_policy()
        while True:
            answer = self.call("find_coordinator", request)
            found = answer.coordinators[0] if answer.coordinators else answer
            if found.error_code not in COORDINATOR_BUSY or not retry.wait():
                break
        check(found.error_code, found.error_message)
        self._nodes.learn([(found.node_id, found.host, found.port)])
        self._coordinators[kind, key] = found.node_id
        return found

    def at_coordinator(
        self,
        key: str,
        api_name: str,
        request: object,
        *,
        kind: int = GROUP,
        code_of: Callable[[Any], ErrorCode] | None = None,
    ) -> Any:
        """Send a request to the coordinator; retry while it loads or moves, as Kafka's own clients do.

        It does if the response has such an error code anywhere, or where `code_of` looks. Other errors are left to
        the caller.
        """
        retry = self.retry_policy()
        while True:
            try:
                node = self._coordinators.get((kind, key))
                node = self.coordinator(key, kind=kind).node_id if node is None else node
                answer = self.call_once(api_name, request, node=node)
            except _UNREACHABLE as failure:
                self._coordinators.pop((kind, key), None)
                self._nodes.drop(node)
                if (api_name not in REPEATABLE and not isinstance(failure, CannotConnect)) or not retry.wait():
                    raise
                continue
            codes = set(error_codes(answer)) if code_of is None else {code_of(answer)}
            busy = codes & COORDINATOR_BUSY
            if not busy:
                return answer
            self._coordinators.pop((kind, key), None)
            if not retry.wait():
                raise Refused(min(busy), f"the coordinator of {key} did not become ready in time")

    def retry_policy(self, limit_s: float | None = None) -> RetryPolicy:
        """For a loop that retries; no longer than `limit_s`."""
        return RetryPolicy(self.settings, self.retry_for_s if limit_s is None else min(limit_s, self.retry_for_s))

    def drop_broken(self, node: int | None = None) -> None:
        """Forget broken connections, and this broker's address."""
        self._nodes.drop(node)

    def close(self) -> None:
        self._nodes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _locate(self, node: int | None) -> None:
        if node is not None and not self._nodes.knows(node):
            self.topics(())

    def _described(self, node: int | None, read: Callable[[Node], T]) -> T:
        def ask() -> T:
            self._locate(node)
            return read(self._nodes.free(node) if node is None else self._nodes.broker(node))

        return self._with_retries("api_versions", node, ask)

    def _with_retries(self, api_name: str, node: int | None, ask: Callable[[], T]) -> T:
        retry = self.retry_policy()
        disconnects = 0
        while True:
            try:
                return ask()
            except _UNREACHABLE as failure:
                self._nodes.drop(node)
                disconnects += isinstance(failure, ClosedOnFirstRequest)
                may_repeat = api_name in REPEATABLE or isinstance(failure, CannotConnect)
                if not may_repeat or disconnects == _DISCONNECTS_MAX or not retry.wait():
                    raise
