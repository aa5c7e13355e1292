"""What a handler is given: the request's circumstances and the broker's services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.controller.controller import Controller
    from barnabas.controller.producer_ids import ProducerIdSource
    from barnabas.coordinator.group.coordinator import GroupCoordinator
    from barnabas.env import Clock, Workers
    from barnabas.handlers.fetch_session import FetchSessions
    from barnabas.metadata.configs.effective import BrokerConfigs
    from barnabas.metadata.image import ClusterImage
    from barnabas.replication.replicas import Replicas
    from barnabas.wire.errors import ErrorCode


class ClientConnection(NamedTuple):
    """Who is at the other end."""

    host: str
    port: int
    listener_name: str
    local_host: str
    """The address of ours that the client connected to."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class RequestContext(NamedTuple):
    broker: Broker
    client: ClientConnection
    api_version: int
    requested_version: int
    """As sent: differs from `api_version` only for ApiVersions of a version that we do not serve."""
    client_id: str | None


@dataclass(slots=True)
class Broker:
    """The services that handlers call, put together by `node`."""

    node_id: int
    cluster_id: str
    clock: Clock
    image: ClusterImage
    """The cluster as it is now; replaced with every change."""
    configs: BrokerConfigs
    replicas: Replicas
    controller: Controller
    group_coordinator: Callable[[], GroupCoordinator]
    producer_ids: ProducerIdSource
    fetch_sessions: FetchSessions
    ensure_internal_topic: Callable[[str], Awaitable[None]]
    """Create the topic with the broker's own settings for it unless it exists; done when its partitions serve."""
    auto_create_topic: Callable[[str], Awaitable[ErrorCode]]
    """Create a topic that a client asked for, with `num.partitions` and `default.replication.factor`."""
    workers: Workers
    fetch_max_bytes: int
    is_stopping: bool = False
    """The broker is closing: answers that wait for more leave with what there is."""

    @property
    def groups(self) -> GroupCoordinator:
        return self.group_coordinator()
