"""The client commands against a broker: stdout, stderr and the exit status."""

import io
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from barnabas.cli.main import run
from barnabas.testing import Broker

pytestmark = pytest.mark.clients


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def command(barnabas_broker: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `barnabas ...` in this process, with `stdin` as its input."""
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", barnabas_broker.bootstrap_servers)

    def call(*arguments: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = run(list(arguments))
        return Outcome(status, *capfd.readouterr())

    return call


def lines(count: int, pattern: str = "value-{}") -> str:
    return "".join(pattern.format(number) + "\n" for number in range(count))


def test_a_topic_from_creation_to_deletion(command: Command, barnabas_topic: str) -> None:
    created = command("topic", "create", barnabas_topic, "-p", "3", "-c", "retention.ms=86400000")
    assert created == (0, "", f"Created topic {barnabas_topic}\n")
    assert {"topic": barnabas_topic, "partitions": 3, "replicas": 1} in command(
        "topic", "list", "--format", "json"
    ).json()
    assert barnabas_topic in command("topic", "list").out
    assert all(line == line.rstrip() for line in command("topic", "describe", barnabas_topic).out.splitlines())

    (described,) = command("topic", "describe", barnabas_topic, "--format", "json").json()
    assert described["config"] == {"retention.ms": "86400000"}
    assert [partition["partition"] for partition in described["partitions"]] == [0, 1, 2]
    assert {partition["end_offset"] for partition in described["partitions"]} == {0}

    altered = command(
        "topic", "alter", barnabas_topic, "-p", "5", "-c", "cleanup.policy=compact", "--delete-config", "retention.ms"
    )
    assert altered.status == 0, altered.err
    (described,) = command("topic", "describe", barnabas_topic, "--format", "json").json()
    assert described["config"] == {"cleanup.policy": "compact"}
    assert len(described["partitions"]) == 5
    table = command("topic", "describe", barnabas_topic).out.splitlines()
    assert table[0] == f"Topic {barnabas_topic}: cleanup.policy=compact"
    assert table[1].split() == ["PARTITION", "LEADER", "REPLICAS", "ISR", "START", "OFFSET", "END", "OFFSET"]

    assert command("topic", "delete", barnabas_topic).err == f"Deleted topic {barnabas_topic}\n"
    assert command("topic", "delete", barnabas_topic).status == 1
    assert command("topic", "delete", barnabas_topic, "--if-exists") == (0, "", "")


def test_a_topic_that_is_there_already(command: Command, barnabas_topic: str) -> None:
    command("topic", "create", barnabas_topic)
    again = command("topic", "create", barnabas_topic)
    assert again.status == 1
    assert "already exists" in again.err
    assert "--if-not-exists" in again.err
    assert command("topic", "create", barnabas_topic, "--if-not-exists").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["alter", "{topic}"], "it is not said what to alter"),
        (["alter", "{topic}", "-p", "1"], "never removed"),
        (["alter", "{topic}", "-c", "nonsense=1"], "nonsense"),
        (["alter", "{topic}", "-c", "nonsense"], "KEY=VALUE"),
        (["describe", "{topic}x"], "did you mean {topic}?"),
        (["create", "no/slashes"], "error: "),
    ],
)
def test_topic_mistakes_are_explained(command: Command, barnabas_topic: str, arguments: list[str], words: str) -> None:
    command("topic", "create", barnabas_topic, "-p", "2")
    failed = command("topic", *(argument.format(topic=barnabas_topic) for argument in arguments))
    assert failed.status == 1
    assert failed.out == ""
    assert words.format(topic=barnabas_topic) in failed.err


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_is_consumed(command: Command, barnabas_topic: str, compression: str) -> None:
    sent = command("produce", barnabas_topic, "--compression", compression, stdin=lines(200))
    assert sent.status == 0, sent.err
    assert f"200 records sent to {barnabas_topic} (1 partition)" in sent.err
    assert sent.out == ""
    read = command("consume", barnabas_topic, "--from-beginning", "--max-messages", "200")
    assert read == (0, lines(200), f"200 records read from {barnabas_topic}\n")


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(command: Command, barnabas_topic: str, acks: str) -> None:
    command("topic", "create", barnabas_topic)
    assert command("produce", barnabas_topic, "--acks", acks, stdin=lines(10)).status == 0
    assert command("consume", barnabas_topic, "--from-beginning", "-n", "10", "--timeout", "20").out == lines(10)


def test_keys_and_headers_and_json(command: Command, barnabas_topic: str) -> None:
    sent = command("produce", barnabas_topic, "-k", ":", "-H", "source=test", "-H", "x=1=2", stdin="a:1\nb::2\n")
    assert sent.status == 0, sent.err
    read = command("consume", barnabas_topic, "--from-beginning", "-n", "2", "--format", "json")
    records = [json.loads(line) for line in read.out.splitlines()]
    assert [(record["offset"], record["key"], record["value"]) for record in records] == [(0, "a", "1"), (1, "b", ":2")]
    assert records[0]["headers"] == [{"key": "source", "value": "test"}, {"key": "x", "value": "1=2"}]


def test_a_line_without_its_separator_is_an_error(command: Command, barnabas_topic: str) -> None:
    sent = command("produce", barnabas_topic, "-k", ":", stdin="a:1\nb\n")
    assert sent.status == 1
    assert "line 2 has no ':'" in sent.err


def test_keyed_records_land_where_the_java_client_puts_them(command: Command, barnabas_topic: str) -> None:
    # What BuiltInPartitioner.partitionForKey of kafka-clients 4.3.1 returns for these keys and 6 partitions.
    expected = {"k0": 5, "k1": 5, "k2": 3, "k3": 4, "k4": 4, "k5": 0, "k6": 1, "k7": 4}
    assert _partitions_of_keys(command, barnabas_topic, list(expected)) == expected


def test_librdkafkas_own_partitioner_can_be_had(command: Command, barnabas_topic: str) -> None:
    import zlib

    keys = [f"k{number}" for number in range(8)]
    expected = {key: zlib.crc32(key.encode()) % 6 for key in keys}
    assert _partitions_of_keys(command, barnabas_topic, keys, "--partitioner", "crc32") == expected


def test_round_robin_spreads_evenly(command: Command, barnabas_topic: str) -> None:
    command("topic", "create", barnabas_topic, "-p", "3")
    command("produce", barnabas_topic, "--partitioner", "round-robin", stdin=lines(9))
    read = command("consume", barnabas_topic, "--from-beginning", "-n", "9", "--format", "{partition} {value}")
    assert sorted(read.out.split()[0::2]) == ["0"] * 3 + ["1"] * 3 + ["2"] * 3


def test_one_partition_alone(command: Command, barnabas_topic: str) -> None:
    command("topic", "create", barnabas_topic, "-p", "3")
    assert "(1 partition)" in command("produce", barnabas_topic, "--partition", "1", stdin=lines(5)).err
    assert "its partitions are 0 to 2" in command("produce", barnabas_topic, "--partition", "3", stdin=lines(5)).err
    one = command("consume", barnabas_topic, "--from-beginning", "-p", "1", "-n", "5")
    assert one.out == lines(5)
    none = command("consume", barnabas_topic, "--from-beginning", "-p", "0", "-p", "2", "--timeout", "0.5")
    assert none == (0, "", f"0 records read from {barnabas_topic}\n")
    assert "no partition 9" in command("consume", barnabas_topic, "-p", "9").err


def test_starting_in_the_middle(command: Command, barnabas_topic: str) -> None:
    command("produce", barnabas_topic, stdin=lines(10))
    assert command("consume", barnabas_topic, "--offset", "7", "-n", "3").out == "value-7\nvalue-8\nvalue-9\n"
    assert command("consume", barnabas_topic, "--offset", "-2", "-n", "2").out == "value-8\nvalue-9\n"
    assert command("consume", barnabas_topic, "--offset", "earliest", "-n", "1").out == "value-0\n"
    assert "must be a number" in command("consume", barnabas_topic, "--offset", "first").err
    assert "cannot be combined" in command("consume", barnabas_topic, "--offset", "1", "--group", "g").err


def test_a_record_too_large_fails_the_command(command: Command, barnabas_topic: str) -> None:
    sent = command("produce", barnabas_topic, stdin="x" * 2_000_000 + "\nsmall\n")
    assert sent.status == 1
    assert f"1 record sent to {barnabas_topic}" in sent.err
    assert "1 record not delivered" in sent.err
    assert "message.max.bytes" in sent.err


def test_a_group_from_first_read_to_deletion(command: Command, barnabas_topic: str) -> None:
    group = f"group-of-{barnabas_topic}"
    command("produce", barnabas_topic, stdin=lines(10))
    read = command("consume", barnabas_topic, "--group", group, "--from-beginning", "-n", "4", "--timeout", "30")
    assert read.out == lines(4)
    assert {"group": group, "state": "empty", "type": "classic"} in command("group", "list", "--format", "json").json()

    (described,) = command("group", "describe", group, "--format", "json").json()
    (partition,) = described["partitions"]
    assert (partition["committed"], partition["end"], partition["lag"]) == (4, 10, 6)
    assert f"Group {group}: empty, 0 members, lag 6" in command("group", "describe", group).out

    rest = command("consume", barnabas_topic, "--group", group, "-n", "6", "--timeout", "30")
    assert rest.out.splitlines() == [f"value-{number}" for number in range(4, 10)]

    reset = ["group", "reset-offsets", group, "--topic", barnabas_topic, "--format", "json"]
    change = {"topic": barnabas_topic, "partition": 0, "old": 10}
    assert command(*reset, "--shift-by", "-3", "--dry-run").json() == [{**change, "new": 7}]
    assert command(*reset, "--to-offset", "2").json() == [{**change, "new": 2}]
    assert command(*reset, "--to-datetime", "2001-01-01T00:00Z").json() == [{**change, "old": 2, "new": 0}]
    assert command(*reset, "--to-latest").json() == [{**change, "old": 0, "new": 10}]
    assert command(*reset, "--to-earliest").json() == [{**change, "old": 10, "new": 0}]
    everything = command(
        "group", "reset-offsets", group, "--all-topics", "--to-datetime", "2999-01-01", "--format", "json"
    )
    assert everything.json() == [{**change, "old": 0, "new": 10}]

    assert command("group", "delete", group).err == f"Deleted group {group}\n"
    gone = command("group", "describe", group)
    assert gone.status == 1
    assert f"there is no group {group}" in gone.err
    assert "barnabas group list" in command("group", "delete", group).err


def test_a_group_without_members_is_shown_with_all_partitions_of_its_topics(
    command: Command, barnabas_topic: str
) -> None:
    group, other = f"group-of-{barnabas_topic}", f"other-group-of-{barnabas_topic}"
    command("topic", "create", barnabas_topic, "-p", "3")
    command("produce", barnabas_topic, "--partition", "1", stdin=lines(5))
    for name in (group, other):
        read = command(
            "consume", barnabas_topic, "-g", name, "-p", "1", "-n", "2", "--from-beginning", "--timeout", "30"
        )
        assert read.out == lines(2)

    (described,) = command("group", "describe", group, "--format", "json").json()
    shown = [(each["partition"], each["committed"], each["end"], each["lag"]) for each in described["partitions"]]
    assert shown == [(0, None, 0, None), (1, 2, 5, 3), (2, None, 0, None)]
    assert described["lag"] == 3
    assert "lag 3, nothing committed in 2 partitions" in command("group", "describe", group).out

    every = command("group", "describe", "--all", "--format", "json").json()
    assert {group, other} <= {each["group"] for each in every}
    assert described in every


@pytest.mark.parametrize("arguments", [[], ["some-group", "--all"]])
def test_describe_wants_names_or_all_groups(command: Command, arguments: list[str]) -> None:
    failed = command("group", "describe", *arguments)
    assert failed.status == 1
    assert "--all" in failed.err
    assert "barnabas group list" in failed.err


def test_a_group_with_members_is_shown_and_not_reset(
    command: Command, barnabas_broker: Broker, barnabas_topic: str
) -> None:
    from confluent_kafka import Consumer

    group = f"group-of-{barnabas_topic}"
    command("produce", barnabas_topic, stdin=lines(3))
    consumer = Consumer(
        {
            "bootstrap.servers": barnabas_broker.bootstrap_servers,
            "group.id": group,
            "client.id": "the-member",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([barnabas_topic])
        assert consumer.poll(30) is not None
        (described,) = command("group", "describe", group, "--format", "json").json()
        assert described["state"] == "stable"
        assert described["members"] == 1
        assert described["partitions"][0]["client"] == "the-member"
        refused = command("group", "reset-offsets", group, "--topic", barnabas_topic, "--to-earliest")
        assert refused.status == 1
        assert "has 1 member" in refused.err
        assert "stop its consumers" in command("group", "delete", group).err
    finally:
        consumer.close()


def test_a_broker_that_is_not_there_is_said_at_once(command: Command) -> None:
    with socket.socket() as taken:  # bound but not listening, so that no other process can use the port
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        failed = command("topic", "list", "--bootstrap-server", address)
    assert failed.status == 1
    assert failed.err == (
        f"error: cannot reach {address}: Connection refused\n"
        "hint: start a broker there with barnabas serve, or give another address with -b HOST:PORT\n"
    )


def test_produce_says_that_it_made_a_topic(command: Command, barnabas_topic: str) -> None:
    first = command("produce", barnabas_topic, stdin=lines(1))
    assert first.err.startswith(f"Created topic {barnabas_topic} with 1 partition\n")
    assert "Created" not in command("produce", barnabas_topic, stdin=lines(1)).err


@pytest.mark.parametrize("answer", ["y", "n"])
def test_produce_asks_at_a_terminal_before_it_makes_a_topic(command: Command, barnabas_topic: str, answer: str) -> None:
    with at_a_terminal("produce", barnabas_topic) as (process, terminal):
        assert f"There is no topic {barnabas_topic}. Create it? [y/N]" in read_until(terminal, "[y/N]")
        os.write(terminal, f"{answer}\nhello\n".encode())
        if answer == "y":
            read_until(terminal, "Ctrl-D")
            os.write(terminal, b"\x04")
            assert "1 record sent" in read_until(terminal, "1 record sent")
        else:
            assert f"there is no topic {barnabas_topic}" in read_until(terminal, "hint: ")
        assert process.wait(20) == (0 if answer == "y" else 1)
    topics = [row["topic"] for row in command("topic", "list", "--format", "json").json()]
    assert (barnabas_topic in topics) == (answer == "y")


def test_the_first_records_do_not_wait_for_a_producer_id(command: Command, barnabas_topic: str) -> None:
    """librdkafka requests a producer id after each metadata answer, and otherwise only every half second."""
    command("topic", "create", barnabas_topic)
    for _ in range(8):  # without the fix, about half of the runs would pass
        sent = command("produce", barnabas_topic, "-X", "debug=eos,queue", "-X", "log_level=7", stdin=lines(3))
        assert sent.status == 0, sent.err
        assert sent.err.index("Acquiring ProducerId") < sent.err.index("flushing")


@pytest.mark.parametrize("arguments", [["consume"], ["consume", "--group", "interrupted"], ["produce"]])
def test_ctrl_c_ends_a_command_quietly(command: Command, barnabas_topic: str, arguments: list[str]) -> None:
    command("produce", barnabas_topic, stdin=lines(1))
    verb, *options = arguments
    with barnabas(verb, barnabas_topic, *options) as process:
        if verb == "consume":
            assert process.stdout is not None
            # It reads from the end on, so one record after another is sent until one comes through.
            coming = select.poll()  # select() itself knows no file above number 1023
            coming.register(process.stdout, select.POLLIN)
            while not coming.poll(0):
                command("produce", barnabas_topic, stdin="wake up\n")
        else:
            assert process.stdin is not None
            process.stdin.write(b"typed\n")
            process.stdin.flush()
            assert command("consume", barnabas_topic, "--offset", "1", "-n", "1").out == "typed\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        stderr = process.stderr.read()
    assert b"Traceback" not in stderr
    assert b"record" in stderr


@pytest.mark.parametrize("arguments", [["topic", "list"], ["produce", "x"], ["consume", "x"], ["group", "list"]])
def test_ctrl_c_ends_a_command_that_waits_for_an_answer(arguments: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with barnabas("-b", address, *arguments) as process, first_request(silent):
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130  # long before it would give up by itself
            assert process.stderr is not None
            assert process.stderr.read() == b""


def test_a_reader_that_leaves_ends_consume_quietly(command: Command, barnabas_topic: str) -> None:
    command("produce", barnabas_topic, stdin=lines(20_000))
    with barnabas("consume", barnabas_topic, "--from-beginning") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"value-0\n"
        process.stdout.close()
        # What is sent now is written to a pipe that nobody reads.
        while process.poll() is None:
            command("produce", barnabas_topic, stdin=lines(10))
        assert process.returncode == 0
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


@contextmanager
def barnabas(*arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The command in its own process, which is killed at the end."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas", *arguments], stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_request(listener: socket.socket) -> socket.socket:
    """The first connection that sends something: others only check that the port is reachable."""
    while True:
        client, _ = listener.accept()
        if client.recv(4):
            return client
        client.close()


@contextmanager
def at_a_terminal(*arguments: str) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """The command with a terminal as its stdin and stderr; also yields the other end of the terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "barnabas", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        try:
            yield process, ours
        finally:
            process.kill()
            os.close(ours)


def read_until(terminal: int, words: str) -> str:
    """What the terminal shows, up to the chunk with these words in it."""
    shown = ""
    while words not in shown:
        shown += os.read(terminal, 1000).decode()
    return shown


def _partitions_of_keys(command: Command, topic: str, keys: list[str], *options: str) -> dict[str, int]:
    command("topic", "create", topic, "-p", "6")
    sent = command("produce", topic, "-k", "=", *options, stdin="".join(f"{key}=x\n" for key in keys))
    assert sent.status == 0, sent.err
    read = command("consume", topic, "--from-beginning", "-n", str(len(keys)), "--format", "{key} {partition}")
    return {key: int(partition) for key, partition in (line.split() for line in read.out.splitlines())}
