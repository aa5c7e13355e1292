"""A broker's services for admin handlers: a real controller and real logs, and a metadata log that commits at once."""

import random
import uuid
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, cast

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.brokers import BrokerRegistration
from barnabas.env import Disk, InlineWorkers, RealDisk
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.services import Cluster, Quotas, Runtime, Services, bind
from barnabas.log.log_store import LogStore
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.configs.in_image import broker_configs_in, topic_settings_in
from barnabas.metadata.delta import replay
from barnabas.metadata.features import SUPPORTED_FEATURES
from barnabas.metadata.image import EMPTY_IMAGE, Endpoint
from barnabas.metadata.records import MetadataRecord
from barnabas.replication.replicas import Replicas
from barnabas.replication.topic_rules import log_settings
from barnabas.testing.clock import VirtualClock
from barnabas.wire.api_table import APIS
from barnabas.wire.codec import decode_response, encode_response

CLIENT = ClientConnection(host="10.0.0.9", port=50000, listener_name="PLAINTEXT", local_host="10.0.0.1")


class AdminBroker:
    def __init__(self, directory: Path, *, disk: Disk | None = None, **static: str) -> None:
        self.static = {name.replace("_", "."): value for name, value in static.items()}
        self.image = EMPTY_IMAGE
        self.failure: Exception | None = None
        rng = random.Random(3)
        self.clock = clock = VirtualClock()
        self.store = LogStore(
            disk or RealDisk(),
            [str(directory / "one"), str(directory / "two")],
            cluster_id="cluster",
            node_id=1,
            settings_of=self._log_settings,
            now_ms=clock.now_ms,
            random=rng,
        )
        replicas = Replicas(
            node_id=1,
            store=self.store,
            workers=InlineWorkers(),
            clock=clock,
            settings_of=lambda topic: topic_settings_in(self.image, topic, self.services.cluster.configs),
            log_settings_of=self._log_settings,
        )
        self.controller = Controller(
            node_id=1, image=lambda: self.image, propose=self._propose, static_configs=self.static, rng=rng
        )
        unused = cast(Any, None)  # admin handlers touch neither groups nor producers
        self.services = Services(
            cluster=Cluster(1, "cluster", self.image, BrokerConfigs(static=self.static)),
            runtime=Runtime(clock, clock, InlineWorkers()),
            quotas=Quotas(),
            replicas=replicas,
            reads=unused,
            controller=self.controller,
            quorum=unused,
            topic_maker=unused,
            producer_ids=unused,
            markers=unused,
            group_coordinator=unused,
            transaction_coordinator=unused,
            share_services=unused,
            get_log_moves=cast(Any, list),  # nothing moves
        )

    async def register(self, broker_id: int = 1) -> None:
        await self.controller.register_broker(
            BrokerRegistration(
                broker_id=broker_id,
                incarnation_id=uuid.UUID(int=broker_id),
                endpoints=(Endpoint("PLAINTEXT", f"host{broker_id}" if broker_id > 1 else "", 9092, 0),),
                features=SUPPORTED_FEATURES,
                rack=f"rack{broker_id}",
                directories=(uuid.UUID(int=90),),
                clean_shutdown=True,
            )
        )

    async def ask(self, api_name: str, request: object, version: int | None = None) -> Any:
        """The handler's answer as a client reads it, encoded and decoded."""
        import importlib

        api = next(api for api in APIS if api.name == api_name)
        version = api.version_max if version is None else version
        context = RequestContext(CLIENT, version, version, "test")
        handle = bind(importlib.import_module(f"barnabas.handlers.{api_name}").handle, self.services)
        response = handle(context, request)
        if isinstance(response, Awaitable):
            response = await response
        return decode_response(api_name, version, encode_response(api_name, version, response), 0)

    async def _propose(self, records: Sequence[MetadataRecord]) -> None:
        if self.failure is not None:
            raise self.failure
        self.image, delta = replay(self.image, records, offset=self.image.offset + len(records))
        self.services.cluster.image = self.image
        self.services.cluster.configs = broker_configs_in(self.image, 1, self.static)
        self.services.replicas.apply(self.image, delta)

    def _log_settings(self, topic_partition: object) -> Any:
        topic = cast(tuple[str, int], topic_partition)[0]
        settings = topic_settings_in(self.image, topic, self.services.cluster.configs)
        return log_settings(settings, producer_id_expiration_ms=86_400_000, transaction_partition_verification=True)
