"""kafka-topics: the same lines as Kafka's TopicCommand, on the same streams."""

import re

import pytest
from cli_running import Run

pytestmark = pytest.mark.clients


def test_a_topic_from_creation_to_deletion(script: Run, barnabas_topic: str) -> None:
    def topics(*arguments: str) -> str:
        return script("kafka-topics", *arguments).good()

    settings = ("--config", "retention.ms=86400000", "--config", "cleanup.policy=delete")
    created = topics("--create", "--topic", barnabas_topic, "--partitions", "2", *settings)
    assert created.splitlines()[-1] == f"Created topic {barnabas_topic}."
    assert barnabas_topic in topics("--list").splitlines()

    line, *partitions = topics("--describe", "--topic", barnabas_topic).splitlines()
    assert re.fullmatch(
        rf"Topic: {barnabas_topic}\tTopicId: [\w-]{{22}}\tPartitionCount: 2\tReplicationFactor: 1"
        r"\tConfigs: cleanup.policy=delete,min.insync.replicas=1,retention.ms=86400000",
        line,
    )
    assert partitions == [
        f"\tTopic: {barnabas_topic}\tPartition: {index}\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: "
        for index in range(2)
    ]
    topic_id = line.split("\t")[1].removeprefix("TopicId: ")
    assert topics("--describe", "--topic-id", topic_id).splitlines() == [line, *partitions]
    assert topics("--describe", "--topic", barnabas_topic, "--topics-with-overrides").splitlines() == [line]
    assert topics("--describe", "--topic", barnabas_topic, "--at-min-isr-partitions").splitlines() == partitions
    for report in ("under-replicated", "unavailable", "under-min-isr"):
        assert topics("--describe", "--topic", barnabas_topic, f"--{report}-partitions") == ""

    assert topics("--alter", "--topic", barnabas_topic, "--partitions", "3") == ""
    few = ("--partition-size-limit-per-response", "2")
    assert len(topics("--describe", "--topic", barnabas_topic, *few).splitlines()) == 4
    assert topics("--delete", "--topic", f"{barnabas_topic[:-1]}.*") == ""
    assert barnabas_topic not in topics("--list").splitlines()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--create", "--topic", "{topic}"], "Topic '{topic}' already exists."),
        (["--describe", "--topic", "{topic}x"], "Topic '{topic}x' does not exist as expected"),
        (["--delete", "--topic", "{topic}x"], "Topic '{topic}x' does not exist as expected"),
        (
            ["--alter", "--topic", "{topic}", "--partitions", "1"],
            "The topic {topic} currently has 2 partition(s); 1 would not be an increase.",
        ),
        (["--create", "--topic", "{topic}x", "--config", "nonsense=3"], "Unknown topic config name: nonsense"),
        (["--create", "--topic", "{topic}x", "--replica-assignment", "1:1"], "Partition replica lists may not contain"),
    ],
)
def test_failures_are_lines_on_stdout_and_status_1(
    script: Run, barnabas_topic: str, arguments: list[str], line: str
) -> None:
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--partitions", "2").good()
    failed = script("kafka-topics", *(text.format(topic=barnabas_topic) for text in arguments))
    assert failed.status == 1
    assert f"Error while executing topic command : {line.format(topic=barnabas_topic)}" in failed.out


def test_if_exists_and_if_not_exists(script: Run, barnabas_topic: str) -> None:
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--replica-assignment", "1,1,1").good()
    assert script("kafka-topics", "--create", "--topic", barnabas_topic, "--if-not-exists").good() == ""
    for action in (["--describe"], ["--delete"], ["--alter", "--partitions", "9"]):
        assert script("kafka-topics", *action, "--topic", f"{barnabas_topic}x", "--if-exists").good() == ""
    described = script("kafka-topics", "--describe", "--topic", barnabas_topic).good()
    assert "\tPartitionCount: 3\t" in described


def test_internal_topics_can_be_left_out(script: Run, barnabas_topic: str) -> None:
    groups = ("kafka-consumer-groups", "--group", barnabas_topic, "--reset-offsets", "--to-earliest", "--execute")
    script("kafka-topics", "--create", "--topic", barnabas_topic).good()
    script(*groups, "--topic", barnabas_topic).good()
    assert "__consumer_offsets" in script("kafka-topics", "--list").good()
    assert "__consumer_offsets" not in script("kafka-topics", "--list", "--exclude-internal").good()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--topic", "t"], "exactly one action"),
        (["--list", "--create"], "exactly one action"),
        (["--create"], "missing required argument --topic"),
        (["--alter", "--topic", "t"], "--partitions"),
        (["--alter", "--topic", "t", "--partitions", "2", "--config", "a=b"], "use kafka-configs"),
        (["--list", "--if-not-exists"], "--if-not-exists can only be used with --create"),
        (["--describe", "--unavailable-partitions", "--topics-with-overrides"], "cannot be combined"),
    ],
)
def test_what_cannot_be_meant(barnabas: Run, arguments: list[str], words: str) -> None:
    failed = barnabas("kafka-topics", "--bootstrap-server", "localhost:1", *arguments)
    assert failed.status == 1
    assert words in failed.err


def test_nobody_listens(barnabas: Run) -> None:
    failed = barnabas("kafka-topics", "--list", "--bootstrap-server", "127.0.0.1:1")
    assert failed.status == 1
    assert "Error while executing topic command : cannot reach 127.0.0.1:1" in failed.out
    assert "barnabas serve" in failed.err
