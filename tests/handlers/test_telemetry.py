"""Client telemetry: subscriptions, refused pushes, what is kept, and the log lines."""

import asyncio
import gzip
import logging
import struct
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from admin_broker import CLIENT, AdminBroker

from barnabas.handlers import telemetry
from barnabas.handlers.context import ClientSoftware, RequestContext
from barnabas.handlers.otlp import read_metrics
from barnabas.handlers.services import bind
from barnabas.metadata.image import CLIENT_METRICS, ConfigsImage
from barnabas.testing.clock import VirtualClock
from barnabas.wire.errors import (
    ErrorCode,
    InvalidRequest,
    KafkaError,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
)
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest


class World:
    """A broker with subscriptions, a clock that is moved by hand, and one client."""

    def __init__(self, directory: Path) -> None:
        self.admin = AdminBroker(directory)
        self.software = ClientSoftware()
        self.client = CLIENT._replace(software=self.software)
        clock = self.admin.services.runtime.clock
        assert isinstance(clock, VirtualClock)
        self.clock = clock

    def subscribe(self, **subscriptions: dict[str, str]) -> None:
        configs = {(CLIENT_METRICS, name): values for name, values in subscriptions.items()}
        cluster = self.admin.services.cluster
        cluster.image = replace(cluster.image, configs=ConfigsImage(by_resource=configs))

    def ask(self, api: str, request: Any, version: int = 0, client_id: str = "app") -> Any:
        import importlib

        context = RequestContext(self.client, version, version, client_id)
        handle = bind(importlib.import_module(f"barnabas.handlers.{api}").handle, self.admin.services)
        answer = handle(context, request)

        async def finish() -> Any:
            return await answer

        return asyncio.run(finish()) if hasattr(answer, "__await__") else answer

    def get(self, instance_id: uuid.UUID | None = None, client_id: str = "app") -> Any:
        request = GetTelemetrySubscriptionsRequest(client_instance_id=instance_id)
        return self.ask("get_telemetry_subscriptions", request, client_id=client_id)

    def push(self, subscription: Any, metrics: bytes = b"", codec: int = 0, **changes: Any) -> ErrorCode:
        fields: dict[str, Any] = {
            "client_instance_id": subscription.client_instance_id,
            "subscription_id": subscription.subscription_id,
            "compression_type": codec,
            "metrics": metrics,
        }
        request = PushTelemetryRequest(**{**fields, **changes})
        code: ErrorCode = self.ask("push_telemetry", request).error_code
        return code

    def pass_ms(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.admin.store.close()


def test_without_subscriptions_nothing_is_asked_for(world: World) -> None:
    answer = world.get()
    assert (answer.error_code, answer.requested_metrics) == (ErrorCode.none, ())
    assert answer.push_interval.total_seconds() == 300
    assert answer.accepted_compression_types == (4, 3, 1, 2)
    assert answer.telemetry_max_bytes == 1048576
    assert answer.delta_temporality
    assert answer.client_instance_id.version == 4


def test_all_subscriptions_that_match_are_asked_for(world: World) -> None:
    world.subscribe(
        a={"metrics": "org.apache.kafka.producer.,b", "interval.ms": "9000"},
        b={"metrics": "b,c", "match": "client_id=ap.*", "interval.ms": "5000"},
        c={"metrics": "d", "match": "client_id=other", "interval.ms": "100"},
    )
    answer = world.get()
    assert answer.requested_metrics == ("b", "c", "org.apache.kafka.producer.")
    assert answer.push_interval.total_seconds() == 5
    world.subscribe(a={"metrics": "x"}, b={"metrics": "*"})
    assert world.get(uuid.uuid4()).requested_metrics == ("*",)


def test_clients_are_known_by_what_they_say_of_themselves(world: World) -> None:
    world.subscribe(a={"metrics": "m", "match": "client_software_name=librdkafka,client_source_address=10\\.0\\.0\\.9"})
    assert world.get().requested_metrics == ()
    software = ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.8.0")
    world.ask("api_versions", software, version=4)
    assert world.get().requested_metrics == ("m",)


def test_a_push_is_kept_and_a_client_comes_once_in_its_interval(world: World) -> None:
    world.subscribe(a={"metrics": "m", "interval.ms": "1000"})
    subscription = world.get()
    assert world.push(subscription, b"first") is ErrorCode.none
    with pytest.raises(ThrottlingQuotaExceeded):
        world.push(subscription, b"too early")
    with pytest.raises(ThrottlingQuotaExceeded):
        world.get(subscription.client_instance_id)
    world.pass_ms(1000)
    assert world.push(subscription, gzip.compress(b"second"), codec=1) is ErrorCode.none
    (instance,) = world.admin.services.telemetry._instances.values()
    assert instance.pushed == b"second"


def test_when_the_subscriptions_change_the_client_asks_again(world: World) -> None:
    world.subscribe(a={"metrics": "m", "interval.ms": "1000"})
    subscription = world.get()
    world.subscribe(a={"metrics": "n", "interval.ms": "1000"})
    with pytest.raises(UnknownSubscriptionId):
        world.push(subscription, b"x")
    # At once: the client did nothing wrong.
    assert world.get(subscription.client_instance_id).requested_metrics == ("n",)


def test_after_its_last_push_a_client_is_gone(world: World) -> None:
    subscription = world.get()
    assert world.push(subscription, b"x") is ErrorCode.none
    # The last push (terminating) need not wait for the interval.
    assert world.push(subscription, b"bye", terminating=True) is ErrorCode.none
    with pytest.raises(InvalidRequest):
        world.push(subscription, b"again", terminating=True)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_instance_id": None}, InvalidRequest),
        ({"client_instance_id": uuid.UUID(int=0)}, InvalidRequest),
        ({"compression_type": 9}, UnsupportedCompressionType),
        ({"subscription_id": 5}, UnknownSubscriptionId),
        ({"metrics": bytes(1048577)}, TelemetryTooLarge),
    ],
)
def test_pushes_that_are_refused(world: World, changes: dict[str, Any], error: type[KafkaError]) -> None:
    with pytest.raises(error):
        world.push(world.get(), **changes)


def test_what_cannot_be_decompressed_is_no_record(world: World) -> None:
    assert world.push(world.get(), b"no gzip", codec=1) is ErrorCode.invalid_record
    bomb = gzip.compress(bytes(20 * 1048576))
    assert world.push(world.get(), bomb, codec=1) is ErrorCode.invalid_record


def test_what_is_kept_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "INSTANCES_MAX", 10)
    monkeypatch.setattr(telemetry, "KEPT_BYTES_MAX", 250)
    for _ in range(30):
        assert world.push(world.get(), bytes(100)) is ErrorCode.none
    kept = world.admin.services.telemetry
    assert len(kept) == 10
    assert sum(len(instance.pushed) for instance in kept._instances.values()) <= 250
    # Clients that were not seen for long are removed first, even if there is room.
    world.pass_ms(3 * 300_000 + 1)
    world.get()
    assert len(kept) == 1


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return bytes([number << 3]) + bytes([content])
    size = len(content)
    assert size < 2**14
    length = bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])
    return bytes([number << 3 | 2]) + length + content


def fixed(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 1]) + content


def otlp(*metrics: bytes) -> bytes:
    scope = b"".join(field(2, metric) for metric in metrics)
    return field(1, field(2, scope))


ATTRIBUTE = field(7, field(1, b"topic") + field(2, field(1, b"t")))
PAYLOAD = otlp(
    field(1, b"sent") + field(7, field(1, ATTRIBUTE + fixed(6, struct.pack("<q", -3)))),
    field(1, b"rate") + field(5, field(1, fixed(4, struct.pack("<d", 1.5)))),
    field(1, b"latency") + field(9, field(1, fixed(4, struct.pack("<Q", 2)) + fixed(5, struct.pack("<d", 7.0)))),
)


def test_metrics_are_read() -> None:
    assert read_metrics(PAYLOAD) == ["sent{topic=t} = -3", "rate = 1.5", "latency = count 2, sum 7.0"]


def test_bytes_that_are_no_metrics_are_read_as_none() -> None:
    for cut in range(len(PAYLOAD)):
        read_metrics(PAYLOAD[:cut])
    assert read_metrics(b"\xff" * 100) == []


def test_metrics_are_logged_where_that_is_asked_for(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "barnabas.client_metrics"):
        assert world.push(world.get(), PAYLOAD) is ErrorCode.none
    assert "client app: rate = 1.5" in caplog.messages
