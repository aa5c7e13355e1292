"""A cluster as its administrators see it: one blocking call per request, sent to the broker that can answer it.

librdkafka's admin client hides what the Kafka scripts must show (leader epochs, topic ids, log directories, API
versions, a broker's own words) and cannot do all that they do. So they speak the protocol themselves, with the
connection of `barnabas.testing.client`, which stands below this room. What is added here is what a command needs: the
newest version that both sides know, the way to a partition's leader and a group's coordinator, and failures told as
sentences. Connections are plaintext; for TLS and logins there are the commands on top of librdkafka.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar

from barnabas.cli.errors import CommandFailed
from barnabas.testing.client import Client
from barnabas.wire.api_table import APIS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

Partition = tuple[str, int]

LATEST, EARLIEST = -1, -2
DEFAULT_TIMEOUT_S = 30.0
RETRY_PAUSE_S: Final = 0.1
COORDINATOR_BUSY: Final = frozenset(
    {ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available, ErrorCode.not_coordinator}
)

P = ParamSpec("P")
R = TypeVar("R")

_KNOWN = {api.name: api for api in APIS}
# From the next version on topics have ids instead of names, and commands deal in names.
_VERSION_CAPS = {"offset_commit": 9, "offset_fetch": 9}
_HINTS = {
    ErrorCode.topic_already_exists: "try --if-not-exists",
    ErrorCode.unknown_topic_or_partition: "try: barnabas topic list",
    ErrorCode.group_id_not_found: "try: barnabas group list",
    ErrorCode.non_empty_group: "the group still has members: stop its consumers first",
    ErrorCode.unknown_member_id: "the group still has members: stop its consumers first",
    ErrorCode.invalid_config: "try: barnabas config get --topic NAME --all, to see names and values",
    ErrorCode.invalid_partitions: "partitions can be added, never removed",
    ErrorCode.invalid_replication_factor: "there are fewer brokers than replicas asked for: try --replication-factor 1",
    ErrorCode.not_controller: "the cluster is electing a controller: try again",
}


class RequestRefused(CommandFailed):
    """A broker's error code, and its words if it had any."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name.upper(), hint=_HINTS.get(code, ""))
        self.code = code


class Offset(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int
    error: ErrorCode


class Cluster:
    def __init__(self, servers: str, *, client_id: str = "barnabas-cli", timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.servers = servers
        self._client_id = client_id
        self.timeout_s = timeout_s
        self._addresses: dict[int, tuple[str, int]] = {}
        self._nodes: dict[int, _Node] = {}
        self._bootstrap = self._connect_to_any(servers)

    def call(self, api_name: str, request: object, *, node: int | None = None) -> Any:
        """Ask a broker; any of them if none is named."""
        return (self._bootstrap if node is None else self._node(node)).call(api_name, request)

    def call_raw(self, api_name: str, request: object, *, node: int) -> bytes:
        """The bytes of the answer, for those that kio cannot read."""
        return self._node(node).call_raw(api_name, request)

    def serves(self, api_name: str, *, node: int) -> bool:
        """Whether the broker knows the API in a version that we speak."""
        return self._node(node).serves(api_name)

    def api_versions(self, node: int) -> Any:
        return self._node(node).described

    def brokers(self) -> Any:
        """DescribeCluster: the cluster's id, its controller and its brokers."""
        answer = self.call("describe_cluster", DescribeClusterRequest())
        check(answer.error_code, answer.error_message)
        self._addresses.update({broker.broker_id: (broker.host, broker.port) for broker in answer.brokers})
        return answer

    def topics(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Metadata by name, of all topics or of these; topics that do not exist are left out."""
        asked = None if names is None else tuple(MetadataRequestTopic(name=name) for name in names)
        answer = self.call("metadata", MetadataRequest(topics=asked, allow_auto_topic_creation=False))
        self._addresses.update({broker.node_id: (broker.host, broker.port) for broker in answer.brokers})
        return {topic.name: topic for topic in answer.topics if topic.error_code == ErrorCode.none}

    def coordinator(self, key: str, *, kind: int = 0) -> Any:
        """Its node id, host and port; of a group, or of a transactional id (kind 1)."""
        request = FindCoordinatorRequest(coordinator_keys=(key,), key=key, key_type=kind)
        answer = self.call("find_coordinator", request)
        found = answer.coordinators[0] if answer.coordinators else answer
        check(found.error_code, found.error_message)
        self._addresses[found.node_id] = (found.host, found.port)
        return found

    def offsets(self, partitions: Iterable[Partition], timestamp: int) -> dict[Partition, Offset]:
        """ListOffsets, at each partition's leader. A partition that does not exist answers with its error."""
        partitions = list(partitions)
        found: dict[Partition, Offset] = {}
        for leader, places in self.by_leader(partitions).items():
            if leader is None:
                missing = Offset(-1, -1, -1, ErrorCode.unknown_topic_or_partition)
                found.update(dict.fromkeys(places, missing))
                continue
            topics = tuple(
                ListOffsetsTopic(
                    name=name,
                    partitions=tuple(
                        ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in indexes
                    ),
                )
                for name, indexes in by_topic(places).items()
            )
            answer = self.call("list_offsets", ListOffsetsRequest(replica_id=-1, topics=topics), node=leader)
            for topic in answer.topics:
                for one in topic.partitions:
                    offset = Offset(one.offset, one.timestamp, one.leader_epoch, one.error_code)
                    found[topic.name, one.partition_index] = offset
        return {place: found[place] for place in partitions}

    def by_leader(self, partitions: Iterable[Partition]) -> dict[int | None, list[Partition]]:
        partitions = list(partitions)
        topics = self.topics({topic for topic, _ in partitions})
        leaders = {
            (topic.name, partition.partition_index): partition.leader_id
            for topic in topics.values()
            for partition in topic.partitions
        }
        grouped: dict[int | None, list[Partition]] = {}
        for place in partitions:
            grouped.setdefault(leaders.get(place), []).append(place)
        return grouped

    def close(self) -> None:
        for node in {self._bootstrap, *self._nodes.values()}:
            node.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect_to_any(self, servers: str) -> "_Node":
        from barnabas.cli.connection import knock, parse_address

        knock(servers)
        for server in servers.split(","):
            try:
                return _Node(self._open(*parse_address(server)), server.strip())
            except OSError:
                continue
        raise CommandFailed(f"cannot reach {servers}", hint="is the broker running? try: barnabas serve")

    def _node(self, node_id: int) -> "_Node":
        if node_id not in self._nodes:
            if node_id not in self._addresses:
                self.topics(())
            if node_id not in self._addresses:
                raise CommandFailed(f"there is no broker {node_id}", hint="try: barnabas cluster describe")
            host, port = self._addresses[node_id]
            try:
                self._nodes[node_id] = _Node(self._open(host, port), f"{host}:{port}")
            except OSError as error:
                raise CommandFailed(
                    f"{self.servers} names broker {node_id} at {host}:{port}, which cannot be reached: {error}",
                    hint="is advertised.listeners of that broker right for this machine?",
                ) from error
        return self._nodes[node_id]

    def _open(self, host: str, port: int) -> Client:
        return Client(host, port, client_id=self._client_id, timeout_s=self.timeout_s)


class _Node:
    """A connection, and what the broker behind it can do."""

    def __init__(self, client: Client, address: str) -> None:
        from barnabas import __version__

        self.client = client
        self._address = address
        software = ApiVersionsRequest(client_software_name="barnabas-cli", client_software_version=__version__)
        self.described = self._guarded("api_versions", 3, software)
        self._ranges = {key.api_key: (key.min_version, key.max_version) for key in self.described.api_keys}

    def call(self, api_name: str, request: object) -> Any:
        return self._guarded(api_name, self._version(api_name), request)

    def call_raw(self, api_name: str, request: object) -> bytes:
        self.client.send(api_name, self._version(api_name), request)
        self.client.forget()
        return self.client.receive_frame()

    def serves(self, api_name: str) -> bool:
        return self._common_version(api_name) is not None

    def _common_version(self, api_name: str) -> int | None:
        known = _KNOWN[api_name]
        lowest, highest = self._ranges.get(known.key, (0, -1))
        version = min(known.version_max, highest, _VERSION_CAPS.get(api_name, highest))
        return None if version < max(known.version_min, lowest) else int(version)

    def _version(self, api_name: str) -> int:
        version = self._common_version(api_name)
        if version is None:
            raise CommandFailed(
                f"the broker at {self._address} does not serve {api_name} in a version that this command speaks",
                hint="try: barnabas kafka-broker-api-versions",
            )
        return version

    def _guarded(self, api_name: str, version: int, request: object) -> Any:
        try:
            return self.client.call(api_name, version, request)
        except TimeoutError as error:
            raise CommandFailed(
                f"{self._address} accepts connections but did not answer {api_name} in time",
                hint="is it a Kafka listener without TLS and login, and is it not overloaded?",
            ) from error
        except OSError as error:
            raise CommandFailed(
                f"the connection to {self._address} broke while it was asked for {api_name}: {error}",
                hint="is it a Kafka listener without TLS and login? its log says more",
            ) from error


def at_coordinator(ask: Callable[Concatenate[Cluster, P], R]) -> Callable[Concatenate[Cluster, P], R]:
    """Ask again while the coordinator reads its log or moves, as Kafka's own clients do."""

    @wraps(ask)
    def patient(cluster: Cluster, /, *args: P.args, **kwargs: P.kwargs) -> R:
        give_up = time.monotonic() + cluster.timeout_s
        while True:
            try:
                return ask(cluster, *args, **kwargs)
            except RequestRefused as refused:
                if refused.code not in COORDINATOR_BUSY or time.monotonic() > give_up:
                    raise
            time.sleep(RETRY_PAUSE_S)

    return patient


def by_topic(partitions: Iterable[Partition]) -> Mapping[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, index in partitions:
        grouped.setdefault(topic, []).append(index)
    return grouped


def check(code: ErrorCode, message: str | None = None) -> None:
    if code != ErrorCode.none:
        raise RequestRefused(code, message)
