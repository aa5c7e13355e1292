"""The console scripts: a round trip of records, with the Java client's partitions."""

import struct
from pathlib import Path

import pytest
from cli_running import Run

from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.line_reader import LineReader, LineRecord
from barnabas.cli.librdkafka import to_librdkafka

pytestmark = pytest.mark.clients

KEY_BY_COLON = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")


def murmur2(data: bytes) -> int:
    """The Java client's hash of a key."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    value = 0x9747B28C ^ len(data)
    for start in range(0, len(data) - len(data) % 4, 4):
        (word,) = struct.unpack_from("<I", data, start)
        word = word * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        value = value * multiplier & mask ^ word
    tail = data[len(data) - len(data) % 4 :]
    if tail:
        value = (value ^ int.from_bytes(tail, "little")) * multiplier & mask
    value = (value ^ value >> 13) * multiplier & mask
    return value ^ value >> 15


def test_the_hash_is_the_java_clients() -> None:
    """From Kafka's own tests of it."""
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    assert {key: struct.unpack(">i", struct.pack(">I", murmur2(key)))[0] for key in known} == known


def test_each_key_lands_where_the_java_client_puts_it(script: Run, barnabas_topic: str) -> None:
    keys = [f"{'k' * (number % 9)}{number}" for number in range(300)] + ["", "é", "日本"]
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--partitions", "7").good()
    lines = "".join(f"{key}:v\n" for key in keys)
    script("kafka-console-producer", "--topic", barnabas_topic, *KEY_BY_COLON, stdin=lines).good()
    shown = ("--formatter-property", "print.key=true", "--formatter-property", "print.partition=true")
    read = script(
        "kafka-console-consumer",
        "--topic",
        barnabas_topic,
        "--from-beginning",
        *shown,
        "--max-messages",
        str(len(keys)),
    )
    where = {
        line.split("\t")[1]: int(line.split("\t")[0].removeprefix("Partition:")) for line in read.good().splitlines()
    }
    assert where == {key: (murmur2(key.encode()) & 0x7FFFFFFF) % 7 for key in keys}
    assert read.err == f"Processed a total of {len(keys)} messages\n"


def test_keys_headers_and_nulls(script: Run, barnabas_topic: str) -> None:
    parse = [f"--reader-property={name}" for name in ("parse.key=true", "parse.headers=true", "null.marker=NULL")]
    lines = "h1:v1,h2:NULL\tk1\tv1\nNULL\tNULL\tv2\nNULL\tk3\tNULL\n"
    script("kafka-console-producer", "--topic", barnabas_topic, *parse, "--sync", stdin=lines).good()
    names = ("key", "headers", "offset", "epoch")
    shown = [f"--property=print.{name}=true" for name in names] + ["--formatter-property", "null.literal=-"]
    read = script("kafka-console-consumer", "--topic", barnabas_topic, "--from-beginning", *shown, "--max-messages=3")
    assert read.good().splitlines() == [
        "Offset:0\tEpoch:0\th1:v1,h2:-\tk1\tv1",
        "Offset:1\tEpoch:0\tNO_HEADERS\t-\tv2",
        "Offset:2\tEpoch:0\tNO_HEADERS\tk3\t-",
    ]
    assert "--property is deprecated" in read.err


@pytest.mark.parametrize("codec", [[], ["--compression-codec"], ["--compression-codec", "zstd"]])
def test_one_partition_from_an_offset(script: Run, barnabas_topic: str, codec: list[str]) -> None:
    lines = "".join(f"line {number}\n" for number in range(10))
    script("kafka-console-producer", "--topic", barnabas_topic, *codec, stdin=lines).good()
    place = ("--topic", barnabas_topic, "--partition", "0")
    assert script("kafka-console-consumer", *place, "--offset", "7", "--max-messages", "2").good() == "line 7\nline 8\n"
    assert script("kafka-console-consumer", *place, "--offset", "earliest", "--max-messages", "1").good() == "line 0\n"
    nothing = script("kafka-console-consumer", *place, "--timeout-ms", "200")
    assert nothing.good() == ""
    assert nothing.err == "Processed a total of 0 messages\n"


def test_a_group_goes_on_where_it_was(script: Run, barnabas_topic: str, tmp_path: Path) -> None:
    script("kafka-console-producer", "--topic", barnabas_topic, stdin="a\nb\nc\n").good()
    member = ("--topic", barnabas_topic, "--group", f"{barnabas_topic}-g")
    early = ("--consumer-property", "auto.offset.reset=earliest")
    keep = (*early, "--consumer-property", "enable.auto.commit=false")
    assert script("kafka-console-consumer", *member, *keep, "--max-messages", "3").good() == "a\nb\nc\n"
    assert script("kafka-console-consumer", *member, *early, "--max-messages", "2").good() == "a\nb\n"
    properties = tmp_path / "consumer.properties"
    properties.write_text("auto.offset.reset=earliest\nmax.poll.records=10\n")
    rest = script("kafka-console-consumer", *member, "--consumer.config", str(properties), "--max-messages", "1")
    assert rest.good() == "c\n"


def test_several_topics_by_a_pattern(script: Run, barnabas_topic: str) -> None:
    for name in ("one", "two"):
        script("kafka-console-producer", "--topic", f"{barnabas_topic}-{name}", stdin=f"{name}\n").good()
    read = script(
        "kafka-console-consumer", "--include", f"{barnabas_topic}-.*", "--from-beginning", "--max-messages", "2"
    )
    assert sorted(read.good().splitlines()) == ["one", "two"]


def test_numbers_are_shown_by_their_deserializer(script: Run, barnabas_topic: str) -> None:
    script("kafka-console-producer", "--topic", barnabas_topic, stdin="\0\0\0\x07\nlong line\n").good()
    read = ("--topic", barnabas_topic, "--from-beginning", "--max-messages", "2")
    integers = ("--value-deserializer", "org.apache.kafka.common.serialization.IntegerDeserializer")
    failed = script("kafka-console-consumer", *read, *integers)
    assert failed.status == 1
    assert "--skip-message-on-error" in failed.err
    skipping = script("kafka-console-consumer", *read, *integers, "--skip-message-on-error")
    assert skipping.good() == "7\n"
    silent = script(
        "kafka-console-consumer", *read, "--formatter", "org.apache.kafka.tools.consumer.NoOpMessageFormatter"
    )
    assert silent.good() == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from-beginning"], "Exactly one of the following arguments is required"),
        (["--topic", "t", "--offset", "3"], "The partition is required when offset is specified."),
        (["--topic", "t", "--partition", "0", "--offset", "3", "--from-beginning"], "cannot be specified together"),
        (["--topic", "t", "--partition", "0", "--group", "g"], "cannot be specified together"),
        (["--topic", "t", "--group", "g", "--consumer-property", "group.id=h"], "do not match"),
        (["--topic", "t", "--formatter", "com.example.Mine"], "refused"),
        (["--topic", "t", "--value-deserializer", "com.example.Mine"], "refused"),
        (["--topic", "t", "--from-beginning", "--consumer-property", "auto.offset.reset=latest"], "simultaneously"),
    ],
)
def test_what_a_consumer_cannot_do(barnabas: Run, arguments: list[str], words: str) -> None:
    failed = barnabas("kafka-console-consumer", "--bootstrap-server", "localhost:1", *arguments)
    assert failed.status == 1
    assert words in failed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "missing required argument --topic"),
        (["--topic", "t", "--line-reader", "com.example.Mine"], "refused"),
        (["--topic", "t", "--compression-codec", "rar"], "--compression-codec is one of"),
        (["--topic", "t", "--reader-config", "/nowhere"], "cannot read"),
    ],
)
def test_what_a_producer_cannot_do(barnabas: Run, arguments: list[str], words: str) -> None:
    failed = barnabas("kafka-console-producer", "--bootstrap-server", "localhost:1", *arguments)
    assert failed.status == 1
    assert words in failed.err


def test_a_line_without_a_key(script: Run, barnabas_topic: str) -> None:
    failed = script("kafka-console-producer", "--topic", barnabas_topic, *KEY_BY_COLON, stdin="a:b\nnokey\n")
    assert failed.status == 1
    assert "No key separator found on line number 2: 'nokey'" in failed.err


def test_lines_are_read_as_kafka_reads_them() -> None:
    def read(line: str, **properties: str) -> LineRecord:
        reader = LineReader({name.replace("_", "."): value for name, value in properties.items()})
        (record,) = reader.read([line.encode()])
        return record

    assert read("a\tb\r\n") == (None, b"a\tb", [])
    assert read("a\tb\n", parse_key="true") == (b"a", b"b", [])
    assert read("nokey\n", parse_key="TRUE", ignore_error="true") == (None, b"nokey", [])
    assert read(
        "h=1;g=2|v", parse_headers="true", headers_delimiter="|", headers_separator=";", headers_key_separator="="
    ) == (
        None,
        b"v",
        [("h", b"1"), ("g", b"2")],
    )
    with pytest.raises(CommandFailed, match="No header key separator found in pair 'h'"):
        read("h\tv", parse_headers="true")
    with pytest.raises(CommandFailed, match="may not be equal"):
        LineReader({"headers.separator": ":"})


def test_the_java_clients_settings_in_librdkafkas_words() -> None:
    assert to_librdkafka(
        {
            "buffer.memory": "33554432",
            "acks": "-1",
            "auto.offset.reset": "none",
            "max.block.ms": "1",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor,range",
            "sasl.jaas.config": 'org.example.PlainLoginModule required username="me" password="secret";',
            "linger.ms": "5",
            "send.buffer.bytes": "10",
        }
    ) == {
        "queue.buffering.max.kbytes": "32768",
        "acks": "all",
        "auto.offset.reset": "error",
        "partition.assignment.strategy": "cooperative-sticky,range",
        "sasl.username": "me",
        "sasl.password": "secret",
        "linger.ms": "5",
        "socket.send.buffer.bytes": "10",
    }
