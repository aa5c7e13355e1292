"""kafka-consumer-groups: Kafka's tables, plans and errors."""

from pathlib import Path

import pytest
from cli_running import Run

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


@pytest.fixture
def topic(script: Run, barnabas_topic: str) -> str:
    """Two partitions with records, and a third without."""
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--partitions", "2").good()
    lines = "".join(f"k{number}\tv{number}\n" for number in range(40))
    script(
        "kafka-console-producer", "--topic", barnabas_topic, "--reader-property", "parse.key=true", stdin=lines
    ).good()
    script("kafka-topics", "--alter", "--topic", barnabas_topic, "--partitions", "3").good()
    return barnabas_topic


def ends_of(script: Run, topic: str) -> list[int]:
    return [int(line.split(":")[2]) for line in script("kafka-get-offsets", "--topic", topic).good().splitlines()]


def reset(script: Run, group: str, *arguments: str) -> list[list[str]]:
    """The rows of the plan: group, topic, partition and new offset."""
    out = script("kafka-consumer-groups", "--reset-offsets", "--group", group, *arguments).good()
    header, *rows = out.lstrip("\n").splitlines()
    assert header.split() == ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]
    return [row.split() for row in rows]


def test_offsets_members_and_state_of_a_group_at_rest(script: Run, topic: str) -> None:
    ends = ends_of(script, topic)
    assert reset(script, "g1", "--to-latest", "--topic", topic, "--execute") == [
        ["g1", topic, str(index), str(end)] for index, end in enumerate(ends)
    ]
    described = script("kafka-consumer-groups", "--describe", "--group", "g1")
    width = max(15, len(topic))
    header = f"{'GROUP':<15} {'TOPIC':<{width}} PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
    header += "CONSUMER-ID     HOST            CLIENT-ID"
    rows = [
        f"{'g1':<15} {topic:<{width}} {index:<10} {end:<15} {end:<15} {0:<15} {'-':<15} {'-':<15} -"
        for index, end in enumerate(ends)
    ]
    assert described.good().split("\n") == ["", header, *rows, ""]
    assert described.err == "\nConsumer group 'g1' has no active members.\n"
    verbose = script("kafka-consumer-groups", "--describe", "--group", "g1", "--verbose").good()
    assert "PARTITION  LEADER-EPOCH    CURRENT-OFFSET" in verbose
    state = script("kafka-consumer-groups", "--describe", "--group", "g1", "--state").good().splitlines()
    assert state[1] == "GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS"
    assert state[2].split()[-3:] == ["-", "Empty", "0"]
    members = script("kafka-consumer-groups", "--describe", "--group", "g1", "--members").good()
    assert members == "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"


def test_a_group_at_work(script: Run, topic: str, barnabas_broker: Broker) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {"bootstrap.servers": barnabas_broker.bootstrap_servers, "group.id": "busy", "client.id": "worker"}
    )
    consumer.subscribe([topic])
    try:
        while not consumer.assignment():
            consumer.poll(0.05)
        members = script("kafka-consumer-groups", "--describe", "--group", "busy", "--members", "--verbose").good()
        row = members.splitlines()[2].split()
        assert row[0] == "busy"
        assert row[1].startswith("worker-")
        assert row[3:6] == ["worker", "3", "-"]
        assert row[6] == f"{topic}:0,1,2"
        rows = script("kafka-consumer-groups", "--describe", "--group", "busy").good().splitlines()[2:]
        assert [row.split()[3] for row in rows] == ["-", "-", "-"]
        refused = script(
            "kafka-consumer-groups", "--reset-offsets", "--group", "busy", "--to-earliest", "--topic", topic
        )
        assert "Error: Assignments can only be reset if the group 'busy' is inactive, but the current" in refused.good()
        assert (
            "could not be deleted due to: The group is not empty."
            in script("kafka-consumer-groups", "--delete", "--group", "busy").good()
        )
        deleting = script("kafka-consumer-groups", "--delete-offsets", "--group", "busy", "--topic", topic).good()
        assert "Error: Encountered some partition-level error" in deleting
    finally:
        consumer.close()


def test_every_way_to_reset(script: Run, topic: str, tmp_path: Path) -> None:
    first, second, third = ends_of(script, topic)
    dry = ("--topic", topic, "--dry-run")
    start = [["g2", topic, str(index), "0"] for index in range(3)]
    assert reset(script, "g2", "--to-earliest", *dry) == start
    assert reset(script, "g2", "--to-offset", "1", "--topic", f"{topic}:0,1", "--execute") == [
        ["g2", topic, "0", "1"],
        ["g2", topic, "1", "1"],
    ]
    assert reset(script, "g2", "--shift-by", "1", "--topic", f"{topic}:0") == [["g2", topic, "0", "2"]]
    assert reset(script, "g2", "--shift-by", "-5", "--topic", f"{topic}:0") == [["g2", topic, "0", "0"]]
    assert reset(script, "g2", "--to-offset", "99999", "--topic", f"{topic}:1") == [["g2", topic, "1", str(second)]]
    assert [row[3] for row in reset(script, "g2", "--to-current", *dry)] == ["1", "1", str(third)]
    exported = script(
        "kafka-consumer-groups",
        "--reset-offsets",
        "--group",
        "g2",
        "--to-current",
        "--all-topics",
        "--export",
        "--dry-run",
    ).good()
    assert exported == f"{topic},0,1\n{topic},1,1\n\n"
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{topic},0,{first}\n")
    assert reset(script, "g2", "--from-file", str(plan), "--execute") == [["g2", topic, "0", str(first)]]
    many = script(
        "kafka-consumer-groups", "--reset-offsets", "--all-groups", "--to-current", "--all-topics", "--export"
    )
    assert f"g2,{topic},0,{first}\n" in many.good()
    assert "without --execute" in many.err


def test_a_time_without_records_after_it_falls_back_to_the_end(script: Run, topic: str) -> None:
    ends = ends_of(script, topic)
    out = script(
        "kafka-consumer-groups",
        "--reset-offsets",
        "--group",
        "g3",
        "--by-duration",
        "PT0S",
        "--topic",
        topic,
        "--dry-run",
    ).good()
    assert f"Warn: Partition 2 from topic {topic} is empty. Falling back to latest known offset." in out
    assert [line.split()[3] for line in out.splitlines() if line.startswith("g3")] == [str(end) for end in ends]
    long_ago = ("--to-datetime", "2020-01-01T00:00:00.000", "--topic", f"{topic}:0", "--dry-run")
    assert reset(script, "g3", *long_ago) == [["g3", topic, "0", "0"]]


def test_lists_filters_and_deletes(script: Run, topic: str) -> None:
    reset(script, "list-me", "--to-earliest", "--topic", topic, "--execute")
    assert "list-me" in script("kafka-consumer-groups", "--list").good().splitlines()
    listed = script("kafka-consumer-groups", "--list", "--state", "--type").good().splitlines()
    width = max(15, *(len(line.split()[0]) for line in listed)) + 10
    assert listed[0] == f"{'GROUP':<{width}} {'TYPE':<20} {'STATE':<20}"
    assert f"{'list-me':<{width}} {'Classic':<20} {'Empty':<20}" in listed
    assert "list-me" not in script("kafka-consumer-groups", "--list", "--state", "stable").good()
    gone = script("kafka-consumer-groups", "--delete-offsets", "--group", "list-me", "--topic", f"{topic}:0").good()
    assert gone.splitlines()[0] == "Request succeeded for deleting offsets from group list-me."
    assert gone.splitlines()[-1].split() == [topic, "0", "Successful"]
    deleted = script("kafka-consumer-groups", "--delete", "--group", "list-me").good()
    assert deleted == "Deletion of requested consumer groups ('list-me') was successful.\n"
    missing = script("kafka-consumer-groups", "--delete", "--group", "nope").good()
    assert "* Group 'nope' could not be deleted due to: The group id does not exist." in missing
    nobody = script("kafka-consumer-groups", "--describe", "--group", "nope").good()
    assert "Error: Executing consumer group command failed due to Group nope not found." in nobody


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "exactly one action"),
        (["--describe"], "--group, --all-groups"),
        (["--describe", "--group", "g", "--members", "--state"], "at most one"),
        (["--reset-offsets", "--group", "g", "--topic", "t"], "requires one of the following scenarios"),
        (["--reset-offsets", "--group", "g", "--to-latest"], "One of the reset scopes should be defined"),
        (
            ["--reset-offsets", "--group", "g", "--to-latest", "--all-topics", "--dry-run", "--execute"],
            "only accepts one",
        ),
        (["--delete-offsets", "--group", "g"], "--group, --topic"),
    ],
)
def test_what_cannot_be_meant(barnabas: Run, arguments: list[str], words: str) -> None:
    failed = barnabas("kafka-consumer-groups", "--bootstrap-server", "localhost:1", *arguments)
    assert failed.status == 1
    assert words in failed.err


@pytest.mark.parametrize(
    ("regex", "verdict"),
    [("a.*b", "is valid."), ("a(b", "is invalid: "), ("a(?=b)", "is invalid: "), (r"(a)\1", "is invalid: ")],
)
def test_regular_expressions_are_judged_without_a_broker(barnabas: Run, regex: str, verdict: str) -> None:
    judged = barnabas("kafka-consumer-groups", "--validate-regex", regex).good()
    assert f"The regular expression `{regex}` {verdict}" in judged
