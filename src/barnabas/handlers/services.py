"""The services of a broker, and how a handler gets the few that it uses.

A handler names them as its first parameters:

    def handle(cluster: Cluster, groups: GroupCoordinator, context: RequestContext, request: OffsetCommitRequest) -> ...

Each is the field or property of `Services` with that name. `bind` looks them up when the first request of an API
arrives, not for every request; then the coordinators are created, too. `node` constructs them all.
"""

from __future__ import annotations

import inspect
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.env.rate_limited_log import RateLimitedLog
from barnabas.env.time_slices import TimeSlices
from barnabas.wire.errors import CorruptMessage

if TYPE_CHECKING:
    from barnabas.controller.controller import Controller
    from barnabas.controller.producer_ids import ProducerIdSource
    from barnabas.coordinator.core.ports import TransactionMarkers
    from barnabas.coordinator.group_coordinator import GroupCoordinator
    from barnabas.coordinator.txn_coordinator import TransactionCoordinator
    from barnabas.env import Clock, Workers
    from barnabas.handlers.context import RequestContext
    from barnabas.handlers.fetch_session import FetchSessions
    from barnabas.handlers.share_services import ShareServices
    from barnabas.handlers.telemetry import Telemetry
    from barnabas.metadata.configs.effective import BrokerConfigs
    from barnabas.metadata.image import ClusterImage
    from barnabas.quotas.client_quotas import ClientQuotas
    from barnabas.raft.node import RaftNode
    from barnabas.replication.log_moves import LogMoves
    from barnabas.replication.replicas import Replicas
    from barnabas.wire.errors import KafkaError

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Cluster:
    """What this broker knows of the cluster, and who it is in it."""

    node_id: int
    cluster_id: str
    image: ClusterImage
    """The current cluster metadata; replaced with every change."""
    configs: BrokerConfigs
    """Of this broker; replaced when they change."""
    wants_telemetry: bool = False
    """There is a client metrics subscription in the image."""


@dataclass(slots=True)
class Runtime:
    """The time and the threads of this process."""

    clock: Clock
    """The broker's time: how old records are, when sessions end."""
    wait_clock: Clock
    """For how long a request may wait, and how fast its client is. Real even where a test makes `clock` virtual."""
    workers: Workers
    time_slices: TimeSlices = field(default_factory=TimeSlices)
    """For work that a client can make long."""
    is_stopping: bool = False
    """The broker is shutting down: waiting fetches are answered with what they have."""
    client_warnings: RateLimitedLog = field(init=False)
    """For mistakes in a client's configuration, which it makes again with every connection."""

    def __post_init__(self) -> None:
        self.client_warnings = RateLimitedLog(logger, self.wait_clock.monotonic_ms)


class Reads:
    """What requests that read records share."""

    def __init__(self, sessions: FetchSessions, *, max_bytes: int, wait_clock: Clock) -> None:
        self.sessions = sessions
        self.max_bytes = max_bytes
        """`fetch.max.bytes`"""
        self._damage_warnings = RateLimitedLog(logger, wait_clock.monotonic_ms)

    def report_damage(self, topic: str, partition: int, error: KafkaError) -> None:
        """Log why a reader gets CORRUPT_MESSAGE, which tells it nothing more; other errors are not logged.

        Readers run into a damaged file again and again, so the warnings are limited.
        """
        if isinstance(error, CorruptMessage):
            kind = (topic, partition, str(error))
            self._damage_warnings.warn(kind, "a reader of %s-%d got CORRUPT_MESSAGE: %s", topic, partition, error)


@dataclass(slots=True)
class Quotas:
    clients: ClientQuotas | None = None
    """None: no quota is set, and nothing is measured."""


class TopicMaker(Protocol):
    async def ensure_internal(self, name: str) -> None:
        """Create an internal topic if it is missing; returns when its partitions can be used."""

    async def auto_create(self, name: str) -> KafkaError | None:
        """Create a topic that a client requested, with `num.partitions` and `default.replication.factor`.

        Returns why it cannot be created. That it exists already is no error.
        """


@dataclass
class Services:
    cluster: Cluster
    runtime: Runtime
    quotas: Quotas
    replicas: Replicas
    reads: Reads
    controller: Controller
    quorum: RaftNode
    topic_maker: TopicMaker
    producer_ids: ProducerIdSource
    markers: TransactionMarkers
    """Writes transaction markers to partitions that this broker leads."""
    group_coordinator: Callable[[], GroupCoordinator]
    transaction_coordinator: Callable[[], TransactionCoordinator]
    """For Produce, which is usually not transactional. Others use `transactions`."""
    share_services: Callable[[], ShareServices]
    get_log_moves: Callable[[], LogMoves]

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
    def log_moves(self) -> LogMoves:
        """Partitions that are moving to other log directories."""
        return self.get_log_moves()

    @cached_property
    def telemetry(self) -> Telemetry:
        from barnabas.handlers.telemetry import Telemetry

        return Telemetry(now_ms=self.runtime.clock.now_ms, rng=random.SystemRandom())


def bind(handle: Callable[..., Any], services: Services) -> Callable[[RequestContext, Any], Any]:
    """The handler with its services, for a context and a request."""
    *names, _context, _request = inspect.signature(handle).parameters
    return partial(handle, *(getattr(services, name) for name in names)) if names else handle
