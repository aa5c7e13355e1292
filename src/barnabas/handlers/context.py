"""What a handler gets: the client, the API version, and the broker's services."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from barnabas.env.rate_limited_log import RateLimitedLog
from barnabas.env.time_slices import TimeSlices
from barnabas.quotas.limits import ANONYMOUS
from barnabas.wire.errors import CorruptMessage

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
    from barnabas.wire.errors import ErrorCode, KafkaError


logger = logging.getLogger(__name__)


class ClientSoftware:
    """The client's name and version, as it sent them in ApiVersions (KIP-511)."""

    __slots__ = ("name", "version")

    def __init__(self) -> None:
        self.name: str | None = None
        self.version: str | None = None


class ClientConnection(NamedTuple):
    """The client's end of a connection, and ours."""

    host: str
    port: int
    listener_name: str
    local_host: str
    """The broker address that the client connected to."""
    software: ClientSoftware | None = None
    on_close: set[Callable[[], None]] | None = None
    """Callbacks for when the connection is closed."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class RequestContext(NamedTuple):
    broker: Broker
    client: ClientConnection
    api_version: int
    requested_version: int
    """The version in the request; differs from `api_version` only for ApiVersions of an unsupported version."""
    client_id: str | None

    def mutation_quota(self, *, strict_since: int) -> MutationQuota | None:
        """The client's quota for changes to the cluster; strict for versions that know THROTTLING_QUOTA_EXCEEDED."""
        quotas = self.broker.quotas
        if quotas is None:
            return None
        return quotas.mutations(ANONYMOUS, self.client_id or "", strict=self.api_version >= strict_since)


@dataclass(slots=True)
class Broker:
    """The services that handlers call; `node` constructs it."""

    node_id: int
    cluster_id: str
    clock: Clock
    """The broker's time: how old records are, when sessions end."""
    wait_clock: Clock
    """For how long a request may wait, and how fast its client is. Real even where a test makes `clock` virtual."""
    image: ClusterImage
    """The current cluster metadata; replaced with every change."""
    configs: BrokerConfigs
    replicas: Replicas
    controller: Controller
    quorum: RaftNode
    log_moves: Callable[[], LogMoves]
    """Partitions that are moving to other log directories."""
    group_coordinator: Callable[[], GroupCoordinator]
    transaction_coordinator: Callable[[], TransactionCoordinator]
    share_services: Callable[[], ShareServices]
    markers: TransactionMarkers
    """Writes transaction markers to partitions that this broker leads."""
    producer_ids: ProducerIdSource
    fetch_sessions: FetchSessions
    ensure_internal_topic: Callable[[str], Awaitable[None]]
    """Create an internal topic if it is missing; returns when its partitions can be used."""
    auto_create_topic: Callable[[str], Awaitable[ErrorCode]]
    """Create a topic that a client requested, with `num.partitions` and `default.replication.factor`."""
    workers: Workers
    fetch_max_bytes: int
    time_slices: TimeSlices = field(default_factory=TimeSlices)
    """For work that a client can make long."""
    is_stopping: bool = False
    """The broker is shutting down: waiting fetches are answered with what they have."""
    wants_telemetry: bool = False
    """There is a client metrics subscription."""
    quotas: ClientQuotas | None = None
    """None: no quota is set, and nothing is measured."""
    client_warnings: RateLimitedLog = field(init=False)
    """For mistakes in a client's configuration, which it makes again with every connection."""
    damage_warnings: RateLimitedLog = field(init=False)
    """For damaged files, which readers run into again and again."""
    _telemetry: Telemetry | None = None

    def __post_init__(self) -> None:
        self.client_warnings = RateLimitedLog(logger, self.wait_clock.monotonic_ms)
        self.damage_warnings = RateLimitedLog(logger, self.wait_clock.monotonic_ms)

    def report_damage(self, topic: str, partition: int, error: KafkaError) -> None:
        """Log why a reader gets CORRUPT_MESSAGE, which tells it nothing more; other errors are not logged."""
        if isinstance(error, CorruptMessage):
            kind = (topic, partition, str(error))
            self.damage_warnings.warn(kind, "a reader of %s-%d got CORRUPT_MESSAGE: %s", topic, partition, error)

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
        """Created when the first client needs it."""
        if self._telemetry is None:
            from barnabas.handlers.telemetry import Telemetry

            self._telemetry = Telemetry(now_ms=self.clock.now_ms, rng=random.SystemRandom())
        return self._telemetry
