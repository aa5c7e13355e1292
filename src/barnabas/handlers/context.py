"""What a handler is given: the request's circumstances and the broker's services."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from barnabas.env.turns import Turns
from barnabas.quotas.limits import ANONYMOUS

if TYPE_CHECKING:
    from barnabas.controller.controller import Controller
    from barnabas.controller.producer_ids import ProducerIdSource
    from barnabas.coordinator.group.coordinator import GroupCoordinator
    from barnabas.coordinator.ports import TransactionMarkers
    from barnabas.coordinator.txn.coordinator import TransactionCoordinator
    from barnabas.env import Clock, Workers
    from barnabas.handlers.fetch_session import FetchSessions
    from barnabas.handlers.share_services import ShareServices
    from barnabas.handlers.telemetry import Telemetry
    from barnabas.metadata.configs.effective import BrokerConfigs
    from barnabas.metadata.image import ClusterImage
    from barnabas.quotas.client_quotas import ClientQuotas, MutationQuota
    from barnabas.raft.node import RaftNode
    from barnabas.replication.log_moves import LogMoves
    from barnabas.replication.replicas import Replicas
    from barnabas.wire.errors import ErrorCode


class ClientSoftware:
    """What the client is, by its own account: it says so with ApiVersions (KIP-511)."""

    __slots__ = ("name", "version")

    def __init__(self) -> None:
        self.name: str | None = None
        self.version: str | None = None


class ClientConnection(NamedTuple):
    """Who is at the other end."""

    host: str
    port: int
    listener_name: str
    local_host: str
    """The address of ours that the client connected to."""
    software: ClientSoftware | None = None
    on_close: set[Callable[[], None]] | None = None
    """Called when the connection is gone."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class RequestContext(NamedTuple):
    broker: Broker
    client: ClientConnection
    api_version: int
    requested_version: int
    """As sent: differs from `api_version` only for ApiVersions of a version that we do not serve."""
    client_id: str | None

    def mutation_quota(self, *, strict_since: int) -> MutationQuota | None:
        """How much the client may change in the cluster; versions that know the error for it are held to it."""
        quotas = self.broker.quotas
        if quotas is None:
            return None
        return quotas.mutations(ANONYMOUS, self.client_id or "", strict=self.api_version >= strict_since)


@dataclass(slots=True)
class Broker:
    """The services that handlers call, put together by `node`."""

    node_id: int
    cluster_id: str
    clock: Clock
    """The broker's time: how old records are, when sessions end."""
    wait_clock: Clock
    """For how long a request may wait, and how fast its client is. Real even where a test makes `clock` virtual."""
    image: ClusterImage
    """The cluster as it is now; replaced with every change."""
    configs: BrokerConfigs
    replicas: Replicas
    controller: Controller
    quorum: RaftNode
    log_moves: Callable[[], LogMoves]
    """Partitions on their way to other log directories."""
    group_coordinator: Callable[[], GroupCoordinator]
    transaction_coordinator: Callable[[], TransactionCoordinator]
    share_services: Callable[[], ShareServices]
    markers: TransactionMarkers
    """Writes the end of a transaction into a partition that this broker leads."""
    producer_ids: ProducerIdSource
    fetch_sessions: FetchSessions
    ensure_internal_topic: Callable[[str], Awaitable[None]]
    """Create the topic with the broker's own settings for it unless it exists; done when its partitions serve."""
    auto_create_topic: Callable[[str], Awaitable[ErrorCode]]
    """Create a topic that a client asked for, with `num.partitions` and `default.replication.factor`."""
    workers: Workers
    fetch_max_bytes: int
    turns: Turns = field(default_factory=Turns)
    """For work that a client can make long."""
    is_stopping: bool = False
    """The broker is closing: answers that wait for more leave with what there is."""
    wants_telemetry: bool = False
    """Somebody has subscribed to metrics of clients."""
    quotas: ClientQuotas | None = None
    """None: there are none, and nothing is measured."""
    _telemetry: Telemetry | None = None

    @property
    def groups(self) -> GroupCoordinator:
        return self.group_coordinator()

    @property
    def transactions(self) -> TransactionCoordinator:
        return self.transaction_coordinator()

    @property
    def share(self) -> ShareServices:
        return self.share_services()

    @property
    def telemetry(self) -> Telemetry:
        """Made when the first client asks for it."""
        if self._telemetry is None:
            from barnabas.handlers.telemetry import Telemetry

            self._telemetry = Telemetry(now_ms=self.clock.now_ms, rng=random.SystemRandom())
        return self._telemetry
