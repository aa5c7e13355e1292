"""Consumer positions: commits, resets, seeks, lookups by time."""

import asyncio
from contextlib import closing
from typing import Any

import client_aiokafka
import client_kafka_python
import pytest
from aiokafka import TopicPartition as AioTopicPartition
from client_confluent import consumer, deliver, take
from client_kcat import QUICK_END
from client_kcat import run as run_kcat
from client_records import DEADLINE_S, Sent, wait_until
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition
from kafka import TopicPartition as KafkaPythonPartition
from kafka.errors import NoOffsetForPartitionError
from kafka.structs import OffsetAndMetadata

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

START_MS = 1_700_000_000_000
STEP_MS = 1000


@pytest.fixture
def filled(broker: Broker, topic: str) -> str:
    """A topic of one partition with ten records, one second apart."""
    broker.create_topic(topic)
    sent = [Sent(0, None, b"%d" % number, (), START_MS + number * STEP_MS) for number in range(10)]
    deliver(broker.bootstrap_servers, topic, sent)
    return topic


def test_a_group_goes_on_where_it_committed(servers: str, filled: str, group: str) -> None:
    with consumer(servers, group) as reader:
        reader.subscribe([filled])
        messages = take(reader, 4)
        (committed,) = reader.commit(message=messages[-1], asynchronous=False)
        assert (committed.offset, committed.error) == (4, None)
    with closing(client_kafka_python.consumer(servers, group_id=group)) as other:
        partition = KafkaPythonPartition(filled, 0)
        assert other.committed(partition) == 4
        other.assign([partition])
        assert client_kafka_python.take(other, 1)[0].offset == 4
        other.commit({partition: OffsetAndMetadata(7, "half way", -1)})
        # confluent-kafka reads metadata past its end, and fails where no text follows by chance.
        assert other.committed(partition, metadata=True).metadata == "half way"
    with consumer(servers, group) as reader:
        (stored,) = reader.committed([TopicPartition(filled, 0)], DEADLINE_S)
        assert stored.offset == 7
        reader.subscribe([filled])
        assert take(reader, 1)[0].offset() == 7


def test_offsets_are_committed_by_the_clock_and_on_close(servers: str, filled: str, group: str) -> None:
    with consumer(servers, group, **{"enable.auto.commit": True, "auto.commit.interval.ms": 50}) as reader:
        reader.subscribe([filled])
        take(reader, 6)
        partition = TopicPartition(filled, 0)
        wait_until(lambda: reader.committed([partition], DEADLINE_S)[0].offset == 6, "six are committed")
    with closing(client_kafka_python.consumer(servers, group_id=group, enable_auto_commit=True)) as other:
        other.subscribe([filled])
        assert client_kafka_python.take(other, 2)[-1].offset == 7
    with consumer(servers, group) as reader:
        assert reader.committed([TopicPartition(filled, 0)], DEADLINE_S)[0].offset == 8


@pytest.mark.parametrize(("reset", "first"), [("earliest", b"0"), ("latest", b"new")])
def test_a_group_without_offsets_starts_where_it_is_told(
    servers: str, filled: str, group: str, reset: str, first: bytes
) -> None:
    with consumer(servers, group, **{"auto.offset.reset": reset}) as reader:
        positions: list[TopicPartition] = []
        reader.subscribe([filled], on_assign=lambda _, partitions: positions.extend(partitions))
        while not positions:
            message = reader.poll(0.05)
        if reset == "latest":
            # "latest" is where the log ends when the consumer asks, which is after its assignment.
            while message is None:
                deliver(servers, filled, [Sent(0, None, b"new")])
                message = reader.poll(0.2)
        else:
            message = message or take(reader, 1)[0]
        assert message.value() == first


def test_no_offset_and_no_reset_is_an_error(servers: str, filled: str, group: str) -> None:
    with consumer(servers, group, **{"auto.offset.reset": "error"}) as reader:
        reader.subscribe([filled])
        with pytest.raises(KafkaException) as missing:
            take(reader, 1)
        assert missing.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET
    with closing(client_kafka_python.consumer(servers, group_id=group, auto_offset_reset="none")) as other:
        other.assign([KafkaPythonPartition(filled, 0)])
        with pytest.raises(NoOffsetForPartitionError):
            client_kafka_python.take(other, 1)


def test_an_offset_beyond_the_log_is_reset(servers: str, filled: str, group: str) -> None:
    with consumer(servers, group) as reader:
        reader.assign([TopicPartition(filled, 0, 999)])
        assert take(reader, 1)[0].offset() == 0
    with closing(client_kafka_python.consumer(servers)) as other:
        partition = KafkaPythonPartition(filled, 0)
        other.assign([partition])
        other.seek(partition, 999)
        assert client_kafka_python.take(other, 1)[0].offset == 0


def test_offsets_by_time(servers: str, filled: str) -> None:
    # exactly, between two, before all, after all
    asked = {START_MS + 3 * STEP_MS: 3, START_MS + 3 * STEP_MS + 1: 4, 0: 0, START_MS + 99 * STEP_MS: None}
    kafka_python_partition = KafkaPythonPartition(filled, 0)
    with (
        consumer(servers, "unused") as reader,
        closing(client_kafka_python.consumer(servers)) as other,
    ):
        for timestamp, offset in asked.items():
            (found,) = reader.offsets_for_times([TopicPartition(filled, 0, timestamp)], DEADLINE_S)
            assert found.offset == (OFFSET_END if offset is None else offset)
            also = other.offsets_for_times({kafka_python_partition: timestamp})[kafka_python_partition]
            assert (None if also is None else also.offset) == offset
            if also is not None:
                assert also.timestamp == START_MS + also.offset * STEP_MS
        assert asyncio.run(_aiokafka_offsets(servers, filled, asked)) == list(asked.values())
    output = run_kcat("-b", servers, "-Q", "-t", f"{filled}:0:{START_MS + 5 * STEP_MS}")
    assert output.split() == [filled.encode(), b"[0]", b"offset", b"5"]


async def _aiokafka_offsets(servers: str, topic: str, timestamps: Any) -> list[int | None]:
    async with client_aiokafka.consumer(servers, topic) as reader:
        partition = AioTopicPartition(topic, 0)
        answers = [(await reader.offsets_for_times({partition: timestamp}))[partition] for timestamp in timestamps]
    return [None if answer is None else answer.offset for answer in answers]


def test_beginning_and_end(servers: str, filled: str) -> None:
    with consumer(servers, "unused") as reader:
        assert reader.get_watermark_offsets(TopicPartition(filled, 0)) == (0, 10)
    with closing(client_kafka_python.consumer(servers)) as other:
        partition = KafkaPythonPartition(filled, 0)
        assert other.beginning_offsets([partition]) == {partition: 0}
        assert other.end_offsets([partition]) == {partition: 10}
    assert run_kcat("-b", servers, "-Q", "-t", f"{filled}:0:-1").split()[-1] == b"10"
    assert run_kcat("-b", servers, "-Q", "-t", f"{filled}:0:-2").split()[-1] == b"0"


def test_seek(servers: str, filled: str, group: str) -> None:
    with consumer(servers, group) as reader:
        reader.assign([TopicPartition(filled, 0, 5)])
        assert take(reader, 1)[0].offset() == 5
        for target, offset in ((2, 2), (OFFSET_BEGINNING, 0), (9, 9)):
            reader.seek(TopicPartition(filled, 0, target))
            assert take(reader, 1)[0].offset() == offset
    with closing(client_kafka_python.consumer(servers)) as other:
        partition = KafkaPythonPartition(filled, 0)
        other.assign([partition])
        other.seek(partition, 6)
        assert client_kafka_python.take(other, 1)[0].offset == 6
        other.seek_to_beginning(partition)
        assert client_kafka_python.take(other, 1)[0].offset == 0
        other.seek_to_end(partition)
        assert other.position(partition) == 10
        other.pause(partition)
        other.seek(partition, 1)
        assert other.poll(timeout_ms=50) == {}
        other.resume(partition)
        assert client_kafka_python.take(other, 1)[0].offset == 1


@pytest.mark.parametrize(
    ("where", "values"),
    [("beginning", b"0123456789"), ("7", b"789"), ("-2", b"89"), (f"s@{START_MS + 8 * STEP_MS}", b"89")],
)
def test_kcat_starts_where_it_is_told(servers: str, filled: str, where: str, values: bytes) -> None:
    output = run_kcat("-b", servers, "-C", "-t", filled, "-o", where, "-e", "-q", "-f", "%s", *QUICK_END)
    assert output == values


def test_kcat_reads_a_span_of_time(servers: str, filled: str) -> None:
    span = ("-o", f"s@{START_MS + 2 * STEP_MS}", "-o", f"e@{START_MS + 5 * STEP_MS}")
    output = run_kcat("-b", servers, "-C", "-t", filled, *span, "-q", "-f", "%s", *QUICK_END)
    assert output == b"234"
