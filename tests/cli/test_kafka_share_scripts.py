"""kafka-share-groups, kafka-console-share-consumer and `barnabas group` with share groups, against a broker."""

import json
import uuid

import pytest
from cli_running import CommandResult, Run
from confluent_kafka import ShareConsumer

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


@pytest.fixture
def topic(script: Run, barnabas_topic: str) -> str:
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--partitions", "1").good()
    lines = "".join(f"v{number}\n" for number in range(20))
    script("kafka-console-producer", "--topic", barnabas_topic, stdin=lines).good()
    return barnabas_topic


@pytest.fixture
def group(script: Run) -> str:
    """A group that starts at the first record."""
    name = f"group-{uuid.uuid4().hex[:8]}"
    setting = ("--add-config", "share.auto.offset.reset=earliest")
    script("kafka-configs", "--alter", "--entity-type", "groups", "--entity-name", name, *setting).good()
    return name


def consume(script: Run, group: str, topic: str, *arguments: str) -> CommandResult:
    return script(
        "kafka-console-share-consumer", "--group", group, "--topic", topic, "--timeout-ms", "20000", *arguments
    )


def describe(script: Run, group: str, *arguments: str) -> list[list[str]]:
    described = script("kafka-share-groups", "--describe", "--group", group, *arguments).good()
    return [line.split() for line in described.splitlines() if line]


def test_records_are_taken_released_and_rejected(script: Run, topic: str, group: str) -> None:
    first = consume(script, group, topic, "--max-messages", "5")
    assert first.good().splitlines() == [f"v{number}" for number in range(5)]
    assert "Processed a total of 5 messages" in first.err
    released = consume(script, group, topic, "--max-messages", "3", "--release")
    assert released.good().splitlines() == ["v5", "v6", "v7"]
    shown = ("--formatter-property", "print.delivery=true", "--formatter-property", "print.offset=true")
    again = consume(script, group, topic, "--max-messages", "3", "--reject", *shown)
    assert [line.split("\t")[0] for line in again.good().splitlines()] == ["Offset:5", "Offset:6", "Offset:7"]
    rest = consume(script, group, topic, "--max-messages", "12")
    assert rest.good().splitlines() == [f"v{number}" for number in range(8, 20)]
    assert describe(script, group)[-1][4] == "0"


def test_a_record_that_cannot_be_shown(script: Run, topic: str, group: str) -> None:
    number = ("--value-deserializer", "LongDeserializer", "--max-messages", "20")
    assert "cannot be shown" in consume(script, group, topic, *number).err
    rejecting = consume(script, group, topic, *number, "--reject-message-on-error")
    assert rejecting.good() == ""
    assert rejecting.err.count("rejecting this message") == 20


def test_both_answers_at_once_make_no_sense(script: Run, topic: str, group: str) -> None:
    assert consume(script, group, topic, "--reject", "--release").status == 1


def test_a_group_is_listed_and_described(script: Run, barnabas_broker: Broker, topic: str, group: str) -> None:
    consumer = ShareConsumer(
        {"bootstrap.servers": barnabas_broker.bootstrap_servers, "group.id": group, "client.id": "me", "log_level": 0}
    )
    consumer.subscribe([topic])
    while not consumer.poll(1):
        pass
    assert group in script("kafka-share-groups", "--list").good().split()
    assert [group, "Stable"] in [
        line.split() for line in script("kafka-share-groups", "--list", "--state", "stable").good().splitlines()
    ]
    assert group not in script("kafka-share-groups", "--list", "--state", "Empty").good()
    header, row = describe(script, group)
    assert header == ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]
    assert row == [group, topic, "0", "0", "20"]
    assert describe(script, group, "--verbose")[0][3] == "LEADER-EPOCH"
    members = describe(script, group, "--members", "--verbose")
    assert members[0][-2:] == ["MEMBER-EPOCH", "ASSIGNMENT"]
    assert "me" in members[1]
    assert members[1][-1] == f"{topic}:0"
    state = describe(script, group, "--state", "--verbose")
    assert state[0] == ["GROUP", "COORDINATOR", "(ID)", "STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS"]
    assert state[1][3] == "Stable"
    refused = script("kafka-share-groups", "--delete", "--group", group).good()
    assert f"Share group '{group}' is not EMPTY." in refused
    busy = script(
        "kafka-share-groups", "--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute"
    )
    assert busy.status == 1
    assert "is not empty" in busy.err
    consumer.close()


def test_offsets_are_reset_and_deleted(script: Run, topic: str, group: str) -> None:
    def reset(*arguments: str) -> list[str]:
        out = script("kafka-share-groups", "--reset-offsets", "--group", group, *arguments).good()
        return out.splitlines()[-1].split()

    assert reset("--topic", topic, "--to-latest", "--dry-run") == [group, topic, "0", "20"]
    assert group not in script("kafka-share-groups", "--list").good().split()
    assert reset("--topic", f"{topic}:0", "--to-latest", "--execute") == [group, topic, "0", "20"]
    assert describe(script, group)[-1] == [group, topic, "0", "20", "0"]
    assert reset("--all-topics", "--to-earliest", "--execute") == [group, topic, "0", "0"]
    assert reset("--topic", topic, "--to-datetime", "2000-01-01T00:00:00.000", "--execute") == [group, topic, "0", "0"]
    assert consume(script, group, topic, "--max-messages", "1").good() == "v0\n"
    deleted = script("kafka-share-groups", "--delete-offsets", "--group", group, "--topic", topic).good()
    assert deleted.splitlines()[-1].split() == [topic, "Successful"]
    missing = script("kafka-share-groups", "--delete-offsets", "--group", group, "--topic", topic).good()
    assert "There is no offset information to delete." in missing
    assert (
        f"Share group '{group}' has no offset information."
        in script("kafka-share-groups", "--describe", "--group", group).good()
    )
    assert "was successful" in script("kafka-share-groups", "--delete", "--group", group).good()
    gone = script("kafka-share-groups", "--delete", "--group", group).good()
    assert f"Group '{group}' is not a share group." in gone


@pytest.mark.parametrize(
    "arguments",
    [
        ("--list", "--describe"),
        ("--describe",),
        ("--describe", "--group", "g", "--members", "--offsets"),
        ("--list", "--state", "Nonsense"),
        ("--delete-offsets", "--group", "g"),
        ("--reset-offsets", "--group", "g", "--topic", "t", "--to-latest"),
        ("--reset-offsets", "--group", "g", "--topic", "t", "--execute"),
        ("--reset-offsets", "--group", "g", "--to-latest", "--execute"),
        ("--delete", "--group", "g", "--all-groups"),
    ],
)
def test_what_cannot_be_meant(script: Run, arguments: tuple[str, ...]) -> None:
    assert script("kafka-share-groups", *arguments).status == 1


def test_barnabas_group_knows_share_groups(
    barnabas: Run, barnabas_broker: Broker, script: Run, topic: str, group: str
) -> None:
    consume(script, group, topic, "--max-messages", "20").good()
    at = ("-b", barnabas_broker.bootstrap_servers)
    listed = json.loads(barnabas("group", "list", "--format", "json", *at).good())
    assert {"group": group, "state": "empty", "type": "share"} in listed
    (described,) = json.loads(barnabas("group", "describe", group, "--format", "json", *at).good())
    assert (described["type"], described["state"], described["lag"]) == ("share", "empty", 0)
    assert described["partitions"][0]["topic"] == topic
    assert f"Group {group}: share group, empty" in barnabas("group", "describe", group, *at).good()
    reset = barnabas("group", "reset-offsets", group, "--topic", topic, "--to-offset", "15", *at)
    assert [topic, "0"] == reset.good().splitlines()[-1].split()[:2]
    assert describe(script, group)[-1] == [group, topic, "0", "15", "5"]
    barnabas("group", "delete", group, *at).good()
    assert group not in barnabas("group", "list", *at).good()
