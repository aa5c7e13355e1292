"""DescribeConfigs beside Apache Kafka's, config by config. What differs on purpose is listed, with its reason."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final, NamedTuple

import pytest
from described_configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    FLAVOURS,
    GROUP,
    TOPIC,
    Difference,
    Flavour,
    Resource,
    ask,
    differences,
)
from kafka_server import NODE_ID, KafkaServer
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.testing import Broker
from barnabas.testing.broker import TEST_PROPERTIES
from barnabas.testing.client import Client, create_topic
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

ME: Final = str(NODE_ID)

PROPERTIES: Final = TEST_PROPERTIES | {
    "compression.type": "gzip",
    "listener.name.plaintext.max.connections": "99",
    "log.flush.scheduler.interval.ms": "1000000",
    "log.retention.hours": "5",
    "log.roll.hours": "10",
    "message.max.bytes": "2000000",
    "num.io.threads": "9",
    "replica.alter.log.dirs.io.max.bytes.per.second": "7777777",
    "ssl.keystore.password": "secret",
}
"""Of both. retention.ms comes from a synonym in another unit; a password; a listener's own config."""

ALTERED: Final = {
    Resource(BROKER, ME): {"log.roll.ms": "7000000", "log.segment.delete.delay.ms": "1234"},
    Resource(BROKER, ""): {
        "log.cleaner.threads": "2",
        "log.flush.interval.ms": "55555",
        "log.retention.bytes": "1000000000",
        "leader.replication.throttled.rate": "6000000",
        "max.connections": "7777",
    },
    Resource(GROUP, "g"): {"consumer.session.timeout.ms": "50000", "share.auto.offset.reset": "earliest"},
    Resource(CLIENT_METRICS, "m"): {"metrics": "org.apache", "interval.ms": "1000", "match": "client_id=x.*"},
}
TOPIC_CONFIGS: Final = {"retention.ms": "1000", "segment.ms": "2000000", "cleanup.policy": "compact,delete"}

DESCRIBED: Final = [
    Resource(TOPIC, "plain"),
    Resource(TOPIC, "plain", ()),
    Resource(TOPIC, "configured"),
    Resource(TOPIC, "configured", ("retention.ms", "unknown", "retention.ms")),
    Resource(TOPIC, "missing"),
    Resource(TOPIC, "no topic's name"),
    Resource(TOPIC, ""),
    Resource(BROKER, ME),
    Resource(BROKER, ME, ("log.retention.hours", "unknown", "log.roll.ms")),
    Resource(BROKER, f"0{ME}", ("log.retention.hours",)),
    Resource(BROKER, ""),
    Resource(BROKER, "", ("log.cleaner.threads", "log.retention.hours")),
    Resource(BROKER, "77"),
    Resource(BROKER, "one"),
    Resource(BROKER_LOGGER, ME, ("root", "unknown")),
    Resource(BROKER_LOGGER, ""),
    Resource(BROKER_LOGGER, "77"),
    Resource(BROKER_LOGGER, "one"),
    Resource(GROUP, "g"),
    Resource(GROUP, "g", ("consumer.session.timeout.ms", "unknown")),
    Resource(GROUP, "missing"),
    Resource(GROUP, ""),
    Resource(CLIENT_METRICS, "m"),
    Resource(CLIENT_METRICS, "m", ("metrics", "unknown")),
    Resource(CLIENT_METRICS, "missing"),
    Resource(CLIENT_METRICS, ""),
    Resource(0, "x"),
    Resource(64, "x"),
]


class Deliberate(NamedTuple):
    kind: int
    name: str
    fields: tuple[str, ...]
    reason: str


_LISTENERS: Final = "Listeners cannot change while the broker runs."
_DEFAULT: Final = "Our default is another one."
_STARTED: Final = "The two were started so."
_SIBLING: Final = "Kafka forgets the value in the file once log.roll.ms, or its like, was altered; we keep it."
_RATE: Final = "Ours has a default and a documentation; Kafka's description of the rates for copies has neither."

DELIBERATE: Final = [
    Deliberate(TOPIC, "", ("error_message",), "Ours says what is wrong; Kafka's is empty."),
    Deliberate(0, "", ("error_message",), "Ours names the type; Kafka's says that a request was malformed."),
    Deliberate(64, "", ("error_message",), "As for type 0."),
    Deliberate(BROKER, "config.providers", ("read_only",), "There are no providers here, and none can be added."),
    Deliberate(BROKER, "listener.security.protocol.map", ("read_only",), _LISTENERS),
    Deliberate(BROKER, "listeners", ("read_only",), _LISTENERS),
    Deliberate(BROKER, "listeners", ("value", "synonyms"), _STARTED),
    Deliberate(BROKER, "log.dirs", ("value", "synonyms"), _STARTED),
    Deliberate(BROKER, "controller.quorum.bootstrap.servers", ("value", "source", "synonyms"), _STARTED),
    Deliberate(BROKER, "controller.listener.names", ("value", "source", "synonyms"), _STARTED),
    Deliberate(BROKER, "log.dir", ("value", "synonyms"), _DEFAULT),
    Deliberate(BROKER, "node.id", ("synonyms",), _DEFAULT),
    Deliberate(BROKER, "process.roles", ("synonyms",), _DEFAULT),
    Deliberate(BROKER, "queued.max.requests", ("value", "synonyms"), _DEFAULT),
    Deliberate(BROKER, "socket.listen.backlog.size", ("value", "synonyms"), _DEFAULT),
    Deliberate(BROKER, "socket.receive.buffer.bytes", ("value", "synonyms"), _DEFAULT),
    Deliberate(BROKER, "socket.send.buffer.bytes", ("value", "synonyms"), _DEFAULT),
    Deliberate(BROKER, "log.roll.hours", ("value",), _SIBLING),
    Deliberate(BROKER, "log.flush.scheduler.interval.ms", ("value",), _SIBLING),
    Deliberate(BROKER, "leader.replication.throttled.rate", ("synonyms", "documented"), _RATE),
    Deliberate(BROKER, "replica.alter.log.dirs.io.max.bytes.per.second", ("synonyms", "documented"), _RATE),
    Deliberate(BROKER_LOGGER, "root", ("value",), "The levels are each server's own."),
]
"""docs/compatibility.md says these, but for what only this test's set-up makes different."""


class Servers(NamedTuple):
    theirs: Client
    ours: Client

    def differences(self, resource: Resource, flavour: Flavour) -> list[Difference]:
        return list(differences(ask(self.theirs, resource, flavour), ask(self.ours, resource, flavour)))


@pytest.fixture(scope="module")
def servers(peers: Peers, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    home = tmp_path_factory.mktemp("configs")
    kafka = KafkaServer(peers, home / "data", home, properties=PROPERTIES)
    kafka.format(tools)
    host, _, port = kafka.bootstrap_servers.partition(":")
    with ExitStack() as stack:
        stack.enter_context(kafka)
        broker = stack.enter_context(Broker(process=True, properties={**kafka.common_properties, **PROPERTIES}))
        both = Servers(stack.enter_context(Client(host, int(port))), stack.enter_context(broker.connect()))
        for client in both:
            _fill(client)
        yield both


def _fill(client: Client) -> None:
    create_topic(client, "plain")
    create_topic(client, "configured", config=TOPIC_CONFIGS)
    for resource, configs in ALTERED.items():
        changes = tuple(AlterableConfig(name=name, value=value) for name, value in configs.items())
        altering = AlterConfigsResource(resource_type=resource.kind, resource_name=resource.name, configs=changes)
        request = IncrementalAlterConfigsRequest(resources=(altering,))
        (answer,) = client.call("incremental_alter_configs", 1, request).responses
        assert answer.error_code == ErrorCode.none, answer.error_message
        _wait_until_altered(client, resource, configs)


def _wait_until_altered(client: Client, resource: Resource, configs: dict[str, str]) -> None:
    """Kafka's broker learns of a change some time after its controller has answered."""
    deadline = time.monotonic() + 20
    asked = resource._replace(keys=tuple(configs))
    while {config.name: config.value for config in ask(client, asked, FLAVOURS[0]).configs} != configs:
        assert time.monotonic() < deadline, f"{resource} is not altered"
        time.sleep(0.02)


def _is_deliberate(resource: Resource, difference: Difference) -> bool:
    return any(
        (each.kind, each.name) == (resource.kind, difference.name) and difference.field in each.fields
        for each in DELIBERATE
    )


@pytest.mark.parametrize("resource", DESCRIBED, ids=str)
def test_configs_are_described_as_by_apache_kafka(servers: Servers, resource: Resource) -> None:
    found = {flavour: servers.differences(resource, flavour) for flavour in FLAVOURS}
    unexpected = {
        flavour: [each for each in found[flavour] if not _is_deliberate(resource, each)] for flavour in FLAVOURS
    }
    assert unexpected == {flavour: [] for flavour in FLAVOURS}


def test_what_differs_on_purpose_differs(servers: Servers) -> None:
    """So that the list is no longer than it has to be."""
    seen = {
        (resource.kind, difference.name, difference.field)
        for resource in DESCRIBED
        for difference in servers.differences(resource, Flavour(4, synonyms=True, documentation=True))
    }
    listed = {(each.kind, each.name, field) for each in DELIBERATE for field in each.fields}
    assert listed - seen == set()
