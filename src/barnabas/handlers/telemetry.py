"""Which clients push metrics, and the last push of each (KIP-714).

A client asks which metrics to push, and gets the id of its subscription. Each push carries that id; once the
subscriptions have changed, the id is unknown and the client asks again. A client that pushes or asks too early gets
THROTTLING_QUOTA_EXCEEDED.

All of this is in memory only, as in Kafka, and bounded.
"""

import random
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from barnabas.handlers.context import RequestContext
from barnabas.metadata.configs.client_metrics import INTERVAL_MS_DEFAULT, Subscription, parse_subscription
from barnabas.metadata.image import CLIENT_METRICS, ClusterImage, ConfigsImage
from barnabas.wire.errors import (
    ErrorCode,
    InvalidRequest,
    KafkaError,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
)
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest

INSTANCES_MAX: Final = 16_384
"""Kafka's."""
EXPIRY_MS_MIN: Final = 60_000
KEPT_BYTES_MAX: Final = 64 * 1024 * 1024
"""For the last pushes of all clients together. A push has a few kilobytes."""
ATTRIBUTE_LENGTH_MAX: Final = 256
"""Longer attributes are cut before matching: clients choose their ids, and a pattern may be slow on long ones."""
ALL_METRICS: Final = "*"
CODECS: Final = (4, 3, 1, 2)
"""The codecs offered to clients: zstd, lz4, gzip, snappy, in Kafka's order."""


class ClientInstance:
    def __init__(self, instance_id: uuid.UUID, attributes: Mapping[str, str]) -> None:
        self.id = instance_id
        self.attributes = attributes
        self.subscription_id = 0
        self.metrics: tuple[str, ...] = ()
        self.interval_ms = INTERVAL_MS_DEFAULT
        self.configs: ConfigsImage | None = None
        """The configs from which the subscription was computed."""
        self.last_seen_ms = 0
        self.last_get_ms = 0
        self.last_push_ms = 0
        self.is_terminating = False
        self.last_error = ErrorCode.none
        self.pushed: bytes = b""
        """The last push, decompressed: metrics in OTLP."""


class Telemetry:
    def __init__(self, *, now_ms: Callable[[], int], rng: random.Random) -> None:
        self._now_ms = now_ms
        self._rng = rng
        self._instances: OrderedDict[uuid.UUID, ClientInstance] = OrderedDict()
        self._subscriptions: dict[str, Subscription] = {}
        self._read_from: ConfigsImage | None = None
        self._kept_bytes = 0

    def __len__(self) -> int:
        return len(self._instances)

    def subscribe(self, image: ClusterImage, context: RequestContext, instance_id: uuid.UUID | None) -> ClientInstance:
        """The client with its subscription. Raises ThrottlingQuotaExceeded if it asks too often."""
        if instance_id is None or instance_id.int == 0:
            instance_id = uuid.UUID(int=self._rng.getrandbits(128), version=4)
        client = self._instance(image, context, instance_id)
        now_ms = self._now_ms()
        may_ask_again = (ErrorCode.unknown_subscription_id, ErrorCode.unsupported_compression_type)
        if now_ms - max(client.last_get_ms, client.last_push_ms) >= client.interval_ms:
            client.last_get_ms = now_ms
        elif client.last_error not in may_ask_again:
            raise ThrottlingQuotaExceeded(
                f"Request from the client [{instance_id}] arrived before the next push interval time"
            )
        client.last_error = ErrorCode.none
        return client

    def admit(
        self, image: ClusterImage, context: RequestContext, request: PushTelemetryRequest, *, bytes_max: int
    ) -> ClientInstance:
        """The client of a push. Raises an error if the push is invalid."""
        instance_id = request.client_instance_id
        if instance_id is None or instance_id.int in (0, 1):
            raise InvalidRequest(f"Invalid request from the client [{instance_id}], invalid client instance id")
        client = self._instance(image, context, instance_id)
        try:
            self._check(client, request, bytes_max)
        except KafkaError as error:
            client.last_error = error.code
            raise
        finally:
            client.is_terminating = request.terminating
        client.last_error = ErrorCode.none
        return client

    def _check(self, client: ClientInstance, request: PushTelemetryRequest, bytes_max: int) -> None:
        if client.is_terminating:
            raise InvalidRequest(
                f"Client [{client.id}] sent the previous request with state terminating to TRUE, can not accept any"
                " requests after that"
            )
        now_ms = self._now_ms()
        if client.last_get_ms > client.last_push_ms or now_ms - client.last_push_ms >= client.interval_ms:
            client.last_push_ms = now_ms
        elif not request.terminating:
            raise ThrottlingQuotaExceeded(
                f"Request from the client [{client.id}] arrived before the next push interval time"
            )
        if request.subscription_id != client.subscription_id:
            raise UnknownSubscriptionId(f"Unknown client subscription id for the client [{client.id}]")
        if request.compression_type not in (0, *CODECS):
            raise UnsupportedCompressionType(
                f"Unknown compression type [{request.compression_type}] is received in telemetry request from"
                f" [{client.id}]"
            )
        if len(request.metrics) > bytes_max:
            raise TelemetryTooLarge(f"Telemetry request from [{client.id}] is larger than the maximum allowed size")

    def keep(self, client: ClientInstance, pushed: bytes) -> None:
        """Keep the client's last push; if there is no room, those of the oldest clients are dropped."""
        self._kept_bytes += len(pushed) - len(client.pushed)
        client.pushed = pushed
        for other in self._instances.values():
            if self._kept_bytes <= KEPT_BYTES_MAX:
                break
            self._kept_bytes -= len(other.pushed)
            other.pushed = b""

    def _instance(self, image: ClusterImage, context: RequestContext, instance_id: uuid.UUID) -> ClientInstance:
        now_ms = self._now_ms()
        client = self._instances.pop(instance_id, None)
        if client is None:
            self._make_room(now_ms)
            client = ClientInstance(instance_id, _attributes(context, instance_id))
        self._instances[instance_id] = client
        client.last_seen_ms = now_ms
        if client.configs is not image.configs:
            self._renew(client, image)
        return client

    def _make_room(self, now_ms: int) -> None:
        while self._instances:
            oldest = next(iter(self._instances.values()))
            expired = now_ms - oldest.last_seen_ms > max(EXPIRY_MS_MIN, 3 * oldest.interval_ms)
            if not expired and len(self._instances) < INSTANCES_MAX:
                return
            self._kept_bytes -= len(oldest.pushed)
            del self._instances[oldest.id]

    def _renew(self, client: ClientInstance, image: ClusterImage) -> None:
        if self._read_from is not image.configs:
            self._read_from = image.configs
            self._subscriptions = {
                name: parse_subscription(configs)
                for (kind, name), configs in image.configs.by_resource.items()
                if kind == CLIENT_METRICS
            }
        client.configs = image.configs
        matching = [each for each in self._subscriptions.values() if each.matches(client.attributes)]
        metrics = sorted({metric for each in matching for metric in each.metrics})
        client.metrics = (ALL_METRICS,) if ALL_METRICS in metrics else tuple(metrics)
        client.interval_ms = min([INTERVAL_MS_DEFAULT, *(each.interval_ms for each in matching)])
        digest = zlib.crc32(f"{client.id} {client.metrics} {client.interval_ms}".encode())
        client.subscription_id = digest - 2**31


def _attributes(context: RequestContext, instance_id: uuid.UUID) -> dict[str, str]:
    client = context.client
    found = {
        "client_instance_id": str(instance_id),
        "client_id": context.client_id,
        "client_software_name": client.software.name if client.software else None,
        "client_software_version": client.software.version if client.software else None,
        "client_source_address": client.host,
        "client_source_port": str(client.port),
    }
    return {name: value[:ATTRIBUTE_LENGTH_MAX] for name, value in found.items() if value is not None}
