"""Transactions by Kafka's own programs: the Java client, Kafka Streams, TransactionsCommand, DumpLogSegments."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition
from kafka_tools import KafkaTools, java
from peers import Peers
from test_java_client import run

from barnabas.testing import Broker

PATIENCE_SECONDS: Final = 60.0


def read_committed(
    broker: Broker, topic: str, partitions: int, *, atleast: int
) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of all committed records, once there are at least so many."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"reads-{topic}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found: list[tuple[bytes | None, bytes | None]] = []
    try:
        while len(found) < atleast:
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None, f"{len(found)} of {atleast} records came"
            assert message.error() is None
            found.append((message.key(), message.value()))
    finally:
        consumer.close()
    return found


def test_the_java_client_reads_processes_and_writes_exactly_once(
    peers: Peers, broker: Broker, barnabas_topic: str
) -> None:
    source, target = barnabas_topic, f"{barnabas_topic}-out"
    broker.create_topic(source, partitions=3)
    broker.create_topic(target, partitions=3)
    values, twice, aborted, zombies = run(peers, "ExactlyOnce", broker.bootstrap_servers, source, target, 600)
    assert (values, twice, zombies) == (601, 0, 0)
    assert aborted > 5


@contextmanager
def word_count(peers: Peers, home: Path, *arguments: object) -> Iterator[None]:
    command = [*java([peers.word_count, peers.streams_jars / "*"], heap_mb=256), "WordCount", *map(str, arguments)]
    output = home / "stderr"
    with open(output, "w") as stderr:
        process = subprocess.Popen([*command, str(home / "state")], stdin=subprocess.PIPE, stderr=stderr)
        try:
            yield
            process.communicate(timeout=PATIENCE_SECONDS)
        except BaseException:
            process.kill()
            process.communicate()
            raise
    assert process.returncode == 0, output.read_text()[-6000:]


def test_kafka_streams_counts_words_exactly_once(
    peers: Peers, broker: Broker, barnabas_topic: str, tmp_path: Path
) -> None:
    source, target = barnabas_topic, f"{barnabas_topic}-counts"
    broker.create_topic(source, partitions=2)
    broker.create_topic(target, partitions=2)
    words = [f"word{number % 7}" for number in range(210)]
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    with word_count(peers, tmp_path, broker.bootstrap_servers, f"count-{barnabas_topic}", source, target):
        for number in range(0, len(words), 3):
            producer.produce(source, " ".join(words[number : number + 3]).encode())
        assert producer.flush(PATIENCE_SECONDS) == 0
        total: Counter[bytes | None] = Counter()
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": f"reads-{target}",
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition(target, index, 0) for index in range(2)])
        while sum(total.values()) < len(words):
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None, total
            assert message.error() is None
            total[message.key()] = max(total[message.key()], int(message.value() or b""))
        consumer.close()
    assert total == Counter(word.encode() for word in words)


def transactional(broker: Broker, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": transactional_id})
    producer.init_transactions(PATIENCE_SECONDS)
    return producer


def test_transactions_command_lists_and_describes(tools: KafkaTools, broker: Broker, barnabas_topic: str) -> None:
    broker.create_topic(barnabas_topic, partitions=3)
    transactional_id = f"id-{barnabas_topic}"
    producer = transactional(broker, transactional_id)
    producer.begin_transaction()
    for index in (0, 2):
        producer.produce(barnabas_topic, b"open", partition=index)
    assert producer.flush(PATIENCE_SECONDS) == 0
    server = ("--bootstrap-server", broker.bootstrap_servers)
    listed = {words[0]: words for words in tools.run("TransactionsCommand", *server, "list").words[1:]}
    assert listed[transactional_id][3] == "Ongoing"
    pattern = tools.run("TransactionsCommand", *server, "list", "--transactional-id-pattern", f"id-{barnabas_topic}.*")
    assert [words[0] for words in pattern.words[1:]] == [transactional_id]
    described = tools.run("TransactionsCommand", *server, "describe", "--transactional-id", transactional_id)
    words = described.words[1]
    assert (words[1], words[4]) == (transactional_id, "Ongoing")
    assert sorted(words[-1].split(",")) == [f"{barnabas_topic}-0", f"{barnabas_topic}-2"]
    producers = tools.run(
        "TransactionsCommand", *server, "describe-producers", "--topic", barnabas_topic, "--partition", "0"
    )
    assert producers.words[1][0] == words[2]
    hanging = tools.run(
        "TransactionsCommand", *server, "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0"
    )
    assert barnabas_topic not in hanging.out, "its coordinator knows it"
    producer.commit_transaction(PATIENCE_SECONDS)
    listed = {words[0]: words for words in tools.run("TransactionsCommand", *server, "list").words[1:]}
    assert listed[transactional_id][3] == "CompleteCommit"


def test_transactions_command_aborts(tools: KafkaTools, broker: Broker, barnabas_topic: str) -> None:
    broker.create_topic(barnabas_topic)
    producer = transactional(broker, f"id-{barnabas_topic}")
    producer.begin_transaction()
    producer.produce(barnabas_topic, b"hanging", partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0
    server = ("--bootstrap-server", broker.bootstrap_servers)
    where = ("--topic", barnabas_topic, "--partition", "0")
    tools.run("TransactionsCommand", *server, "abort", *where, "--start-offset", "0")
    plain = Producer({"bootstrap.servers": broker.bootstrap_servers})
    plain.produce(barnabas_topic, b"after", partition=0)
    assert plain.flush(PATIENCE_SECONDS) == 0
    assert [value for _, value in read_committed(broker, barnabas_topic, 1, atleast=1)] == [b"after"]


def test_the_command_that_forces_an_end(tools: KafkaTools, broker: Broker, barnabas_topic: str) -> None:
    broker.create_topic(barnabas_topic)
    transactional_id = f"id-{barnabas_topic}"
    producer = transactional(broker, transactional_id)
    producer.begin_transaction()
    producer.produce(barnabas_topic, b"open", partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0
    server = ("--bootstrap-server", broker.bootstrap_servers)
    tools.run("TransactionsCommand", *server, "forceTerminateTransaction", "--transactionalId", transactional_id)
    described = tools.run("TransactionsCommand", *server, "describe", "--transactional-id", transactional_id)
    assert described.words[1][4] in ("CompleteAbort", "Empty")


def test_dump_log_segments_decodes_the_transaction_log(tools: KafkaTools, tmp_path: Path, barnabas_topic: str) -> None:
    with Broker(process=True, data_dir=tmp_path / "data") as broker:
        broker.create_topic("t", partitions=2)
        producer = transactional(broker, "decoded")
        for commit in (True, False):
            producer.begin_transaction()
            for index in range(2):
                producer.produce("t", b"x", partition=index)
            assert producer.flush(PATIENCE_SECONDS) == 0
            if commit:
                producer.commit_transaction(PATIENCE_SECONDS)
            else:
                producer.abort_transaction(PATIENCE_SECONDS)
        broker.stop()
        files = [path for path in (tmp_path / "data").glob("__transaction_state-*/*.log") if path.stat().st_size]
        output = tools.run("DumpLogSegments", "--files", ",".join(map(str, files)), "--transaction-log-decoder").out
        states = []
        for key, value in re.findall(r"key: (\{.*?\}) payload: (\{.*\})$", output, re.MULTILINE):
            assert json.loads(key)["data"] == {"transactionalId": "decoded"}
            states.append(json.loads(value)["data"]["transactionStatus"])
        assert [state for index, state in enumerate(states) if states[index - 1 : index] != [state]] == [
            0,
            1,
            2,
            4,
            1,
            3,
            5,
        ]
        markers = tools.run(
            "DumpLogSegments", "--deep-iteration", "--files", str(tmp_path / "data/t-0" / ("0" * 20 + ".log"))
        )
        assert re.findall(r"endTxnMarker: (\w+)", markers.out) == ["COMMIT", "ABORT"]
