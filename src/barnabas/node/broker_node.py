"""Constructs, starts and stops one broker: storage, quorum, controller, coordinators, listeners.

Start order: read the configuration, open the log directories, replay the metadata log, bind the listeners (so that
their ports are known), register the broker, host partitions and load groups, take connections. Stop goes the other way
and ends with writing the clean shutdown marker. One node is a cluster of one.
"""

from __future__ import annotations

import asyncio
import errno
import random
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.brokers import BrokerRegistration
from barnabas.controller.producer_ids import ProducerIdSource
from barnabas.env import Clock, Disk, RealDisk, SystemClock, ThreadWorkers, Workers
from barnabas.env.time_slices import TimeSlices
from barnabas.handlers.fetch_session import FetchSessions
from barnabas.handlers.services import Cluster, Quotas, Reads, Runtime, Services
from barnabas.log.settings import LogSettings
from barnabas.metadata.configs import BrokerConfigs, TopicSettings, resolve_topic_settings, validate_broker_properties
from barnabas.metadata.configs.effective import with_both_node_ids
from barnabas.metadata.configs.in_image import broker_configs_in
from barnabas.metadata.delta import Delta
from barnabas.metadata.features import SUPPORTED_FEATURES
from barnabas.metadata.image import CLIENT_METRICS, TOPIC, ClusterImage, Endpoint
from barnabas.metadata.records import MetadataRecord, encode_metadata_record
from barnabas.model import METADATA_PARTITION, TopicPartition
from barnabas.node.cluster_state import RECORDS_AT_ONCE, ClusterState
from barnabas.node.connection_configs import connection_limits, connection_settings
from barnabas.node.coordinators import CoordinatorDependencies, Coordinators
from barnabas.node.errors import StartError
from barnabas.node.listeners import ListenerPlan, plan_listeners
from barnabas.node.quorum import metadata_log_settings, open_quorum
from barnabas.node.quota_changes import QuotaChanges
from barnabas.node.recovery import recover_large_logs, set_strays_aside
from barnabas.node.storage import open_storage
from barnabas.node.topic_maker import TopicMaker
from barnabas.node.upkeep import Upkeep
from barnabas.replication.replicas import Replicas
from barnabas.replication.topic_rules import log_settings
from barnabas.server.dispatch import Dispatcher
from barnabas.server.limits import ConnectionGate
from barnabas.server.listener import Listener
from barnabas.wire.errors import InvalidConfig, KafkaError

if TYPE_CHECKING:
    from barnabas.log.log_directory import LogDirectory
    from barnabas.node.archiver import Archiver
    from barnabas.node.cleaner import Cleaner
    from barnabas.replication.log_moves import LogMoves

# How long requests in progress may take when the broker stops.
STOP_GRACE_SECONDS: Final = 5.0
CLEANER_DELAY_MS_MAX: Final = 1000
_PLAINTEXT: Final = 0


class BrokerNode:
    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        clock: Clock | None = None,
        wait_clock: Clock | None = None,
        disk: Disk | None = None,
        workers: Workers | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """`wait_clock`: see `handlers.services.Runtime`. It differs from `clock` only in tests with real clients."""
        try:
            validate_broker_properties(properties)
        except InvalidConfig as error:
            raise StartError(str(error)) from error
        self._static = with_both_node_ids(properties)
        self._clock = clock or SystemClock()
        self._wait_clock = wait_clock or self._clock
        self._disk = disk or RealDisk()
        self._workers = workers or ThreadWorkers()
        self._rng = rng or random.SystemRandom()
        self._configs = BrokerConfigs(static=self._static)
        self._plans = plan_listeners(self._configs)
        self._time_slices = TimeSlices(now=self._clock.work_s)
        self._state = ClusterState(self._workers, self._time_slices)
        self._cleaner: Cleaner | None = None
        self._archiver: Archiver | None = None
        self._log_moves: LogMoves | None = None
        self._resolved_settings: dict[frozenset[tuple[str, str]], TopicSettings] = {}
        """By the topic's own configs: ten thousand topics share a handful of different ones."""
        self._listeners: list[tuple[ListenerPlan, Listener]] = []
        self.node_id = self._configs.integer("node.id")

    # --- state

    @property
    def image(self) -> ClusterImage:
        return self._state.image

    @property
    def port(self) -> int:
        """Of the first listener."""
        return self._ports[0]

    @property
    def addresses(self) -> Sequence[str]:
        """The address of each listener, for clients on this machine."""
        return [f"{plan.bind.host or 'localhost'}:{port}" for plan, port in zip(self._plans, self._ports, strict=True)]

    @property
    def data_dirs(self) -> Sequence[str]:
        return self._storage.paths

    async def failed(self) -> Exception:
        """Wait until this broker cannot go on; returns the reason."""
        return await self._failure

    def _fail(self, error: Exception) -> None:
        if not self._failure.done():
            self._failure.set_result(error)

    # --- start

    async def start(self) -> None:
        """The broker serves when this returns. On StartError everything is closed again."""
        self._failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._storage = open_storage(
            self._configs, disk=self._disk, clock=self._clock, rng=self._rng, settings_of=self._log_settings
        )
        try:
            await self._start()
        except BaseException:
            await self._close_after_failed_start()
            raise

    async def _start(self) -> None:
        self._raft = await open_quorum(
            self._storage,
            self._configs,
            listener=self._state,
            on_failure=self._fail,
            disk=self._disk,
            clock=self._clock,
            workers=self._workers,
        )
        self._controller = Controller(
            node_id=self.node_id,
            image=lambda: self._state.image,
            propose=self._propose,
            static_configs=self._static,
            rng=self._rng,
        )
        self._replicas = Replicas(
            node_id=self.node_id,
            store=self._storage.store,
            workers=self._workers,
            clock=self._clock,
            settings_of=self._topic_settings,
            log_settings_of=self._log_settings,
        )
        self._topics = TopicMaker(self._controller, lambda: self._state.image, lambda: self._configs, self._workers)
        self._producer_ids = ProducerIdSource(self._allocate_producer_ids)
        self._coordinators = Coordinators(self._coordinator_dependencies())
        self._services = self._make_services()
        await self._bind(Dispatcher(self._services))
        self._epoch = await self._controller.register_broker(self._registration())
        set_strays_aside(self._storage.store, self._state.image)
        self._services.cluster.configs = self._configs = self._current_configs()
        await recover_large_logs(self._storage.store, self._workers)
        self._archiver = self._make_archiver()
        self._state.publish(
            self._refresh,
            QuotaChanges(self._services.quotas, self._services.runtime, self._gate, lambda: self._configs).apply,
            self._replicas.apply,
            self._coordinators.apply,
            *([self._archiver.apply] if self._archiver else []),
            in_parts=self._replicas.apply,
        )
        self._upkeep = Upkeep(self._replicas, clock=self._clock, workers=self._workers, configs=lambda: self._configs)
        self._upkeep.start()
        self._resume_moves()
        self._coordinators.serve()  # first, so that no client is told to look for a coordinator elsewhere
        for _, listener in self._listeners:
            await listener.serve()
        if self._archiver is not None:
            self._archiver.start()
        # There is nothing to compact yet, so importing the cleaner can wait until after the first answer.
        delay_ms = min(CLEANER_DELAY_MS_MAX, self._configs.integer("log.cleaner.backoff.ms"))
        self._cleaner_start = self._clock.call_later(delay_ms, self._start_cleaner)

    def _start_cleaner(self) -> None:
        from barnabas.node.cleaner import Cleaner

        self._cleaner = Cleaner(
            self._storage.store,
            disk=self._disk,
            clock=self._clock,
            workers=self._workers,
            configs=lambda: self._configs,
        )
        self._cleaner.start()

    def _make_archiver(self) -> Archiver | None:
        folder = self._configs.string("barnabas.archive.dir")
        if folder is None:
            return None
        from barnabas.node.archiver import Archiver

        return Archiver(folder, self.addresses[0], clock=self._wait_clock, settings_of=self._topic_settings)

    def _get_log_moves(self) -> LogMoves:
        from barnabas.replication.log_moves import LogMoves

        if self._log_moves is None:
            self._log_moves = LogMoves(
                self._replicas,
                clock=self._clock,
                workers=self._workers,
                bytes_per_second=lambda: self._configs.integer("replica.alter.log.dirs.io.max.bytes.per.second"),
                on_moved=self._assign_directory,
            )
        return self._log_moves

    def _resume_moves(self) -> None:
        for directory in self._storage.store.directories:
            for topic_partition in directory.interrupted_moves:
                with suppress(KafkaError):  # the topic was deleted, or the disk is offline
                    self._get_log_moves().move(topic_partition, directory)

    async def _assign_directory(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        from barnabas.controller.decisions.directories import decide_assign_directory

        if directory.properties is None:
            return
        directory_id = directory.properties.directory_id
        await self._controller.decide(
            lambda image: decide_assign_directory(
                image, topic_partition, broker_id=self.node_id, directory_id=directory_id
            )
        )

    def _coordinator_dependencies(self) -> CoordinatorDependencies:
        return CoordinatorDependencies(
            node_id=self.node_id,
            replicas=self._replicas,
            workers=self._workers,
            clock=self._clock,
            wait_clock=self._wait_clock,
            rng=self._rng,
            image=lambda: self._state.image,
            configs=lambda: self._configs,
            producer_ids=self._producer_ids,
            ensure_internal_topic=self._topics.ensure_internal,
        )

    def _make_services(self) -> Services:
        sessions = FetchSessions(
            slots=self._configs.integer("max.incremental.fetch.session.cache.slots"), random_source=self._rng
        )
        return Services(
            cluster=Cluster(self.node_id, self._storage.cluster_id, self._state.image, self._configs),
            runtime=Runtime(self._clock, self._wait_clock, self._workers, self._time_slices),
            quotas=Quotas(),
            replicas=self._replicas,
            reads=Reads(sessions, max_bytes=self._configs.integer("fetch.max.bytes"), wait_clock=self._wait_clock),
            controller=self._controller,
            quorum=self._raft,
            topic_maker=self._topics,
            producer_ids=self._producer_ids,
            markers=self._coordinators.markers,
            group_coordinator=self._coordinators.groups,
            transaction_coordinator=self._coordinators.transactions,
            share_services=self._coordinators.share,
            get_log_moves=self._get_log_moves,
        )

    async def _bind(self, dispatcher: Dispatcher) -> None:
        self._gate = ConnectionGate(connection_limits(self._configs))
        self._ports = []
        settings = connection_settings(self._configs)
        for plan in self._plans:
            listener = Listener(
                plan.bind.name,
                dispatcher,
                self._gate,
                settings,
                backlog=self._configs.integer("socket.listen.backlog.size"),
                idle_seconds_max=self._configs.integer("connections.max.idle.ms") / 1000,
            )
            try:
                port = await listener.bind(plan.bind.host, plan.bind.port)
            except OSError as error:
                raise StartError(_why_not_bound(plan, error)) from error
            self._listeners.append((plan, listener))
            self._ports.append(port)

    def _registration(self) -> BrokerRegistration:
        endpoints = []
        for (plan, _), port in zip(self._listeners, self._ports, strict=True):
            advertised = plan.advertised or plan.bind._replace(port=port)
            endpoints.append(Endpoint(advertised.name, advertised.host, advertised.port, _PLAINTEXT))
        return BrokerRegistration(
            broker_id=self.node_id,
            incarnation_id=uuid.UUID(int=self._rng.getrandbits(128), version=4),
            endpoints=tuple(endpoints),
            features=SUPPORTED_FEATURES,
            rack=self._configs.string("broker.rack"),
            directories=tuple(self._storage.directory_ids),
            clean_shutdown=self._storage.was_clean,
        )

    # --- callbacks of the parts

    async def _propose(self, records: Sequence[MetadataRecord]) -> None:
        def encode() -> list[bytes]:
            return [encode_metadata_record(record) for record in records]

        await self._raft.append(encode() if len(records) <= RECORDS_AT_ONCE else await self._workers.run(encode))

    async def _allocate_producer_ids(self) -> range:
        return await self._controller.allocate_producer_ids(broker_id=self.node_id, broker_epoch=self._epoch)

    def _topic_settings(self, topic: str) -> TopicSettings:
        overrides = self._state.image.configs.of(TOPIC, topic)
        key = frozenset(overrides.items())
        settings = self._resolved_settings.get(key)
        if settings is None:
            settings = self._resolved_settings[key] = resolve_topic_settings(overrides, self._configs)
        return settings

    def _log_settings(self, topic_partition: TopicPartition) -> LogSettings:
        if topic_partition == METADATA_PARTITION:
            return metadata_log_settings(self._configs)
        return log_settings(
            self._topic_settings(topic_partition.topic),
            producer_id_expiration_ms=self._configs.integer("producer.id.expiration.ms"),
            transaction_partition_verification=self._configs.boolean("transaction.partition.verification.enable"),
        )

    def _current_configs(self) -> BrokerConfigs:
        return broker_configs_in(self._state.image, self.node_id, self._static)

    def _refresh(self, image: ClusterImage, delta: Delta) -> None:
        """The first subscriber: the others, and handlers, read what this sets."""
        cluster = self._services.cluster
        cluster.image = image
        if any(kind == CLIENT_METRICS for kind, _ in delta.configs_changed):
            cluster.wants_telemetry = any(kind == CLIENT_METRICS for kind, _ in image.configs.by_resource)
        configs = self._current_configs()
        if configs == self._configs:
            return
        self._resolved_settings.clear()
        self._configs = cluster.configs = configs
        self._gate.limits = connection_limits(self._configs)

    # --- stop

    async def stop(self) -> None:
        """Finish requests in progress, write everything to disk, close."""
        if self._archiver is not None:
            await self._archiver.stop()
        self._services.runtime.is_stopping = True
        for partition in self._replicas:
            partition.wake_watchers()
        await asyncio.gather(*(listener.close(grace_seconds=STOP_GRACE_SECONDS) for _, listener in self._listeners))
        self._cleaner_start.cancel()
        if self._cleaner is not None:
            await self._cleaner.stop()
        if self._log_moves is not None:
            await self._log_moves.stop()
        await self._upkeep.stop()
        await self._coordinators.stop()
        for partition in self._replicas:
            await partition.settle()
        with suppress(KafkaError):  # the metadata log may have failed
            await self._controller.fence_broker(broker_id=self.node_id, broker_epoch=self._epoch)
        await self._raft.close()
        await self._workers.run(lambda: self._storage.close(broker_epoch=self._epoch, inline=self._workers.is_inline))
        self._workers.close()

    async def _close_after_failed_start(self) -> None:
        for _, listener in self._listeners:
            listener.stop_accepting()
        if hasattr(self, "_raft"):
            await self._raft.close()
        self._storage.store.close()
        self._workers.close()


def _why_not_bound(plan: ListenerPlan, error: OSError) -> str:
    where = f"{plan.bind.host or '0.0.0.0'}:{plan.bind.port}"
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use by another process; stop it, or choose another port: --listen {plan.bind.host}:0"
    if error.errno == errno.EACCES:
        return f"binding {where} is not permitted; ports below 1024 need privileges: choose another with --listen"
    return f"cannot listen on {where}: {error.strerror or error}; check the host in --listen or listeners"
