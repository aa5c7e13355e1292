"""A cluster: one blocking call per request, sent to the broker that can answer it.

What a plain connection lacks is here: the newest version that both sides know, the way to a partition's leader and to
a group's coordinator, and patience: while brokers restart and leaders move, reads and whatever is harmless to do twice
are asked again until a deadline (default.api.timeout.ms). A broken connection is dropped and made anew.

Not for several threads at once. Connects when it is first needed.
"""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from barnabas.client.connection import Connection
from barnabas.client.errors import CannotConnect, ConnectionClosed, HungUp, Refused, RequestTimedOut, check
from barnabas.client.node import Node
from barnabas.client.nodes import Nodes
from barnabas.client.offsets import Offset, Partition, list_offsets
from barnabas.client.retrying import COORDINATOR_BUSY, REPEATABLE, Patience, error_codes
from barnabas.client.settings import ClientSettings
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

T = TypeVar("T")

GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators."""

UNKNOWN_TOPIC_PATIENCE_S: Final = 5.0
"""A topic that was just made may be unknown to a broker for a moment; one that stays unknown does not exist."""

_HANG_UPS_MAX: Final = 5
"""In one call. A broker that dies does so once; one that wants a login hangs up every time."""

_UNREACHABLE: Final = (CannotConnect, ConnectionClosed, RequestTimedOut)


class Cluster:
    def __init__(self, settings: ClientSettings, *, patience_s: float | None = None) -> None:
        """`patience_s`: for each call, instead of the settings' `api_timeout_s`; 0 to try everything once."""
        self.settings = settings
        self.patience_s = settings.api_timeout_s if patience_s is None else patience_s
        self._nodes = Nodes(settings)
        self._leaders: dict[Partition, int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    def call(self, api_name: str, request: object, *, node: int | None = None) -> Any:
        """Ask a broker; any of them if none is named."""
        return self._patiently(api_name, node, lambda: self.call_once(api_name, request, node=node))

    def call_once(self, api_name: str, request: object, *, node: int | None = None) -> Any:
        """For callers who must decide themselves what to do when the connection breaks."""
        self._locate(node)
        return self._nodes.free(node).call(api_name, request)

    def version(self, api_name: str, *, node: int | None = None, newest: int | None = None) -> int:
        """The newest version that both sides speak, and none after `newest`; UnsupportedApi if there is none."""
        return self._described(node, lambda found: found.version(api_name, newest))

    def serves(self, api_name: str, *, node: int | None = None) -> bool:
        """Whether the broker knows the API in a version that we speak."""
        return self._described(node, lambda found: found.serves(api_name))

    def api_versions(self, node: int | None = None) -> Any:
        """What the broker said when it was asked which versions it speaks, and which features it has."""
        return self._described(node, lambda found: found.described)

    def connection(self, node: int) -> Connection:
        """The connection to a broker, for pipelines of requests. One attempt; ask again after it broke."""
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
        patience = self.patience()
        while True:
            answer = self.call("metadata", MetadataRequest(topics=asked, allow_auto_topic_creation=False))
            self._nodes.learn((broker.node_id, broker.host, broker.port) for broker in answer.brokers)
            codes = {topic.error_code for topic in answer.topics}
            if ErrorCode.leader_not_available not in codes or not patience.rest():
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
        patience, patience_unknown = self.patience(), self.patience(UNKNOWN_TOPIC_PATIENCE_S)
        while True:
            self._leaders.pop((topic, partition), None)
            self.topics([topic])
            known = self._leaders.get((topic, partition))
            if known is not None and known >= 0:
                return known
            if known is None and not patience_unknown.rest():
                raise Refused(ErrorCode.unknown_topic_or_partition, f"there is no partition {topic}-{partition}")
            if known is not None and not patience.rest():
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
        patience = self.patience()
        while True:
            answer = self.call("find_coordinator", request)
            found = answer.coordinators[0] if answer.coordinators else answer
            if found.error_code not in COORDINATOR_BUSY or not patience.rest():
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
        """Ask the coordinator, and again while it reads its log or moves, as Kafka's own clients do.

        Whether it does is told by any error code in the response, or by the one that `code_of` takes from it. Other
        errors are left to the caller.
        """
        patience = self.patience()
        while True:
            try:
                node = self._coordinators.get((kind, key))
                node = self.coordinator(key, kind=kind).node_id if node is None else node
                answer = self.call_once(api_name, request, node=node)
            except _UNREACHABLE as failure:
                self._coordinators.pop((kind, key), None)
                self._nodes.drop(node)
                if (api_name not in REPEATABLE and not isinstance(failure, CannotConnect)) or not patience.rest():
                    raise
                continue
            codes = set(error_codes(answer)) if code_of is None else {code_of(answer)}
            busy = codes & COORDINATOR_BUSY
            if not busy:
                return answer
            self._coordinators.pop((kind, key), None)
            if not patience.rest():
                raise Refused(min(busy), f"the coordinator of {key} did not become ready in time")

    def patience(self, limit_s: float | None = None) -> Patience:
        """For a loop that asks again; no longer than `limit_s`."""
        return Patience(self.settings, self.patience_s if limit_s is None else min(limit_s, self.patience_s))

    def drop_broken(self, node: int | None = None) -> None:
        """Forget connections that broke, and where this broker was."""
        self._nodes.drop(node)

    def close(self) -> None:
        self._nodes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _locate(self, node: int | None) -> None:
        if node is not None and not self._nodes.knows(node):
            self.topics(())

    def _described(self, node: int | None, tell: Callable[[Node], T]) -> T:
        def ask() -> T:
            self._locate(node)
            return tell(self._nodes.free(node) if node is None else self._nodes.broker(node))

        return self._patiently("api_versions", node, ask)

    def _patiently(self, api_name: str, node: int | None, ask: Callable[[], T]) -> T:
        patience = self.patience()
        hung_up = 0
        while True:
            try:
                return ask()
            except _UNREACHABLE as failure:
                self._nodes.drop(node)
                hung_up += isinstance(failure, HungUp)
                may_repeat = api_name in REPEATABLE or isinstance(failure, CannotConnect)
                if not may_repeat or hung_up == _HANG_UPS_MAX or not patience.rest():
                    raise
