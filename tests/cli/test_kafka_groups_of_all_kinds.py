"""kafka-groups, kafka-consumer-groups and `barnabas group` with consumer groups of KIP-848."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from cli_running import Run
from confluent_kafka import Consumer

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


@pytest.fixture
def topic(script: Run, barnabas_topic: str) -> str:
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--partitions", "2").good()
    script("kafka-console-producer", "--topic", barnabas_topic, stdin="a\nb\nc\n").good()
    return barnabas_topic


@contextmanager
def member(broker: Broker, group: str, topic: str, **config: str) -> Iterator[Consumer]:
    """A member that has read everything and committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "group.protocol": "consumer",
            "client.id": "worker",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **config,
        }
    )
    consumer.subscribe([topic])
    try:
        for _ in range(3):
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
        consumer.commit(asynchronous=False)
        yield consumer
    finally:
        consumer.close()


def test_a_consumer_group_at_work(script: Run, barnabas: Run, topic: str, barnabas_broker: Broker) -> None:
    group = f"{topic}-readers"
    with member(barnabas_broker, group, topic):
        described = script("kafka-consumer-groups", "--describe", "--group", group).good()
        assert len([line for line in described.splitlines() if line.endswith(" worker")]) == 2
        title, row = (
            script("kafka-consumer-groups", "--describe", "--group", group, "--members", "--verbose")
            .good()
            .strip()
            .splitlines()
        )
        assert title.split()[5:] == ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        epoch, has, target_epoch, shall_have = row.split()[5:]
        assert (epoch, has) == (target_epoch, shall_have) == (epoch, f"{topic}:0,1")
        state = script("kafka-consumer-groups", "--describe", "--group", group, "--state", "--verbose").good()
        assert state.split()[-5:] == ["uniform", "Stable", epoch, epoch, "1"]

        listed = script("kafka-consumer-groups", "--list", "--type", "consumer", "--state").good()
        assert [group, "Consumer", "Stable"] in [line.split() for line in listed.splitlines()]
        refused = script("kafka-consumer-groups", "--delete", "--group", group).good()
        assert "could not be deleted due to: The group is not empty." in refused

        servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
        found = json.loads(barnabas("group", "describe", group, "--format", "json", *servers).good())
        assert (found[0]["state"], found[0]["assignor"], found[0]["members"], found[0]["lag"]) == (
            "stable",
            "uniform",
            1,
            0,
        )
        shown = barnabas("group", "describe", group, *servers).good()
        assert shown.startswith(f"Group {group}: consumer group, stable, 1 member, assignor uniform, lag 0")
        rows = json.loads(barnabas("group", "list", "--format", "json", *servers).good())
        assert {"group": group, "state": "stable", "type": "consumer"} in rows

    assert (
        "-"
        not in script(
            "kafka-consumer-groups", "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute"
        )
        .good()
        .split()
    )
    assert barnabas("group", "delete", group, *servers).status == 0
    assert group not in script("kafka-groups", "--list").good()


def test_groups_of_all_kinds_are_listed(script: Run, topic: str, barnabas_broker: Broker) -> None:
    consumers, simple = f"{topic}-consumers", f"{topic}-simple"
    reset = ("--reset-offsets", "--topic", topic, "--to-latest", "--execute")
    script("kafka-consumer-groups", "--group", simple, *reset).good()

    def listed(*filters: str) -> dict[str, list[str]]:
        title, *rows = script("kafka-groups", "--list", *filters).good().splitlines()
        assert title.split() == ["GROUP", "TYPE", "PROTOCOL"]
        return {row.split()[0]: row.split()[1:] for row in rows if row.split()[0] in (consumers, simple)}

    with member(barnabas_broker, consumers, topic):
        everything = {consumers: ["Consumer", "consumer"], simple: ["Classic"]}
        assert listed() == listed("--consumer") == everything
        assert (
            listed("--group-type", "consumer") == listed("--protocol", "consumer") == {consumers: everything[consumers]}
        )
        assert listed("--group-type", "Classic") == {simple: ["Classic"]}
        assert listed("--share") == listed("--streams") == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "exactly one action: --list"),
        (["--list", "--group-type", "strange"], "must be a valid group type"),
        (["--list", "--consumer", "--share"], "cannot be combined with other filters"),
        (["--list", "--share", "--protocol", "x"], "cannot be combined with other filters"),
    ],
)
def test_what_cannot_be_meant(barnabas: Run, arguments: list[str], words: str) -> None:
    ran = barnabas("kafka-groups", "--bootstrap-server", "localhost:1", *arguments)
    assert ran.status == 1
    assert words in ran.err
