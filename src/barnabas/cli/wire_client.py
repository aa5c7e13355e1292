"""The client of `barnabas.client` for commands; its errors become failures of the command.

librdkafka's admin client lacks some requests, and does not report everything that Kafka's scripts show (leader epochs,
topic ids, log directories, API versions, a broker's error message). There are no retries: an error is shown at once.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar

from barnabas.cli.errors import CommandFailed
from barnabas.cli.reachability import check_reachable
from barnabas.client import cluster as client
from barnabas.client.errors import ClientError, Refused
from barnabas.client.offsets import EARLIEST as EARLIEST
from barnabas.client.offsets import LATEST as LATEST
from barnabas.client.offsets import Offset
from barnabas.client.offsets import Partition as Partition
from barnabas.client.offsets import by_topic as by_topic
from barnabas.client.properties import client_settings
from barnabas.client.retrying import COORDINATOR_BUSY as COORDINATOR_BUSY
from barnabas.wire.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.cli.cluster_access import ClusterAccess

DEFAULT_TIMEOUT_S = 30.0
RETRY_PAUSE_S: Final = 0.1

P = ParamSpec("P")
R = TypeVar("R")

_HINTS = {
    ErrorCode.topic_already_exists: "with --if-not-exists an existing topic is left as it is",
    ErrorCode.unknown_topic_or_partition: "run barnabas topic list to see the topics",
    ErrorCode.group_id_not_found: "run barnabas group list to see the groups",
    ErrorCode.non_empty_group: "the group still has members: stop its consumers first",
    ErrorCode.unknown_member_id: "the group still has members: stop its consumers first",
    ErrorCode.invalid_config: "run barnabas config get --topic NAME --all to see names and values",
    ErrorCode.invalid_partitions: "partitions can be added, never removed",
    ErrorCode.invalid_replication_factor: "there are fewer brokers than replicas: give --replication-factor 1",
    ErrorCode.not_controller: "the cluster is electing a controller: try again",
}


class RequestRefused(CommandFailed):
    """A broker's error code, and its message if it sent one."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name.upper(), hint=_HINTS.get(code, ""))
        self.code = code


class Cluster:
    def __init__(
        self,
        servers: str,
        *,
        client_id: str = "barnabas-cli",
        timeout_s: float = DEFAULT_TIMEOUT_S,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """`properties`: Kafka's client properties, for TLS and logins."""
        self.servers = servers
        with _command_failures():
            given = {"client.id": client_id, "request.timeout.ms": str(int(timeout_s * 1000)), **(properties or {})}
            settings = client_settings({**given, "bootstrap.servers": servers})
        self.timeout_s = settings.request_timeout_s
        check_reachable(servers)
        self._client = client.Cluster(settings, retry_for_s=0)

    @classmethod
    def to(cls, access: "ClusterAccess") -> Self:
        return cls(access.servers, properties=access.properties)

    def call(self, api_name: str, request: object, *, node: int | None = None) -> Any:
        """Send a request to this broker, or to any of them."""
        with _command_failures():
            return self._client.call(api_name, request, node=node)

    def serves(self, api_name: str, *, node: int) -> bool:
        """Whether the broker serves a version of the API that we know."""
        with _command_failures():
            return self._client.serves(api_name, node=node)

    def api_versions(self, node: int) -> Any:
        with _command_failures():
            return self._client.api_versions(node)

    def brokers(self) -> Any:
        """DescribeCluster: the cluster's id, its controller and its brokers."""
        with _command_failures():
            return self._client.brokers()

    def topics(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Metadata by name, of all topics or of these; topics that do not exist are left out."""
        with _command_failures():
            return self._client.topics(names)

    def coordinator(self, key: str, *, kind: int = client.GROUP) -> Any:
        """Its node id, host and port; of a group, or of a transactional id (kind 1)."""
        with _command_failures():
            return self._client.coordinator(key, kind=kind)

    def offsets(self, partitions: Iterable[Partition], timestamp: int) -> dict[Partition, Offset]:
        """ListOffsets, at each partition's leader. A partition that does not exist answers with its error."""
        with _command_failures():
            return self._client.offsets(partitions, timestamp)

    def by_leader(self, partitions: Iterable[Partition]) -> dict[int | None, list[Partition]]:
        with _command_failures():
            return self._client.by_leader(partitions)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


@contextmanager
def _command_failures() -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        raise RequestRefused(refused.code, refused.message) from refused
    except ClientError as error:
        raise CommandFailed(error.message, hint=error.hint) from error


def at_coordinator(ask: Callable[Concatenate[Cluster, P], R]) -> Callable[Concatenate[Cluster, P], R]:
    """Retry while the coordinator loads or moves, as Kafka's own clients do."""

    @wraps(ask)
    def retrying(cluster: Cluster, /, *args: P.args, **kwargs: P.kwargs) -> R:
        give_up = time.monotonic() + cluster.timeout_s
        while True:
            try:
                return ask(cluster, *args, **kwargs)
            except RequestRefused as refused:
                if refused.code not in COORDINATOR_BUSY or time.monotonic() > give_up:
                    raise
            time.sleep(RETRY_PAUSE_S)

    return retrying


def check(code: ErrorCode, message: str | None = None) -> None:
    if code != ErrorCode.none:
        raise RequestRefused(code, message)
