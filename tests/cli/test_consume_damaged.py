"""`barnabas consume` at a damaged batch: everything that can be read is printed, and how to go on is said."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_running import Run

from barnabas.records.batch import Batch, split_batches
from barnabas.records.record import Record, build_batch
from barnabas.testing import Broker
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

BATCHES = 40
BATCH_RECORDS = 30
DAMAGED = 25
"""Not at a multiple of what the command takes at a time."""


def produce(broker: Broker, partition: int) -> None:
    with broker.connect() as client:
        for number in range(BATCHES):
            records = [
                Record(timestamp=1000, value=b"%d:%d" % (partition, number * BATCH_RECORDS + each))
                for each in range(BATCH_RECORDS)
            ]
            data = PartitionProduceData(index=partition, records=build_batch(records))
            request = ProduceRequest(acks=-1, topic_data=(TopicProduceData(name="t", partition_data=(data,)),))
            client.call("produce", 9, request)


def damage(path: Path, number: int) -> None:
    content = bytearray(path.read_bytes())
    position = 0
    batch: Batch
    for _, batch in zip(range(number), split_batches(bytes(content)), strict=False):
        position += len(batch.data)
    content[position + 90] ^= 0xFF
    path.write_bytes(content)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """Two partitions, the first with a damaged batch in the middle."""
    with Broker(data_dir=tmp_path) as broker:
        broker.create_topic("t", partitions=2)
        produce(broker, 0)
        produce(broker, 1)
        broker.stop()
        damage(next((tmp_path / "t-0").glob("*.log")), DAMAGED)
        broker.start()
        yield broker


FIRST, NEXT = DAMAGED * BATCH_RECORDS, (DAMAGED + 1) * BATCH_RECORDS


def test_all_that_can_be_read_before_it_is_printed(barnabas: Run, broker: Broker) -> None:
    read = barnabas("consume", "t", "-b", broker.bootstrap_servers, "--partition", "0", "--from-beginning")
    assert read.status == 1
    assert read.out.splitlines() == [f"0:{number}" for number in range(FIRST)]
    assert f"{FIRST} records read from t" in read.err
    assert (
        f"a batch of t partition 0 is damaged on the broker's disk: offsets {FIRST} to {NEXT - 1} cannot be read, "
        f"the next readable offset is {NEXT}"
    ) in read.err
    assert "barnabas log verify" in read.err
    assert f"run barnabas consume t --partition 0 --offset {NEXT};" in read.err


def test_the_way_on_that_is_told_works(barnabas: Run, broker: Broker) -> None:
    where = ("consume", "t", "-b", broker.bootstrap_servers, "--partition", "0", "--offset", str(NEXT))
    read = barnabas(*where, "--max-messages", str(BATCHES * BATCH_RECORDS - NEXT)).good()
    assert read.splitlines() == [f"0:{number}" for number in range(NEXT, BATCHES * BATCH_RECORDS)]


def test_other_partitions_are_read_to_their_end(barnabas: Run, broker: Broker) -> None:
    read = barnabas("consume", "t", "-b", broker.bootstrap_servers, "--from-beginning", "--timeout", "1s")
    assert read.status == 1
    assert "the other partitions continue" in read.err
    lines = read.out.splitlines()
    for partition, end in ((0, FIRST), (1, BATCHES * BATCH_RECORDS)):
        mine = [line for line in lines if line.startswith(f"{partition}:")]
        assert mine == [f"{partition}:{number}" for number in range(end)]


def test_a_group_is_told_how_to_move_on(barnabas: Run, broker: Broker) -> None:
    group = ("consume", "t", "-b", broker.bootstrap_servers, "--group", "g", "--partition", "0", "--from-beginning")
    read = barnabas(*group)
    assert (read.status, len(read.out.splitlines())) == (1, FIRST)
    assert f"run barnabas group reset-offsets g --topic t:0 --to-offset {NEXT};" in read.err
    barnabas(
        "group", "reset-offsets", "g", "-b", broker.bootstrap_servers, "--topic", "t:0", "--to-offset", str(NEXT)
    ).good()
    again = barnabas(*group, "--max-messages", "1").good()
    assert again.splitlines() == [f"0:{NEXT}"]


def test_kafkas_console_consumer_does_the_same(barnabas: Run, broker: Broker) -> None:
    servers = ("--bootstrap-server", broker.bootstrap_servers)
    read = barnabas("kafka-console-consumer", *servers, "--topic", "t", "--partition", "0", "--offset", "earliest")
    assert read.status == 1
    assert read.out.splitlines() == [f"0:{number}" for number in range(FIRST)]
    assert f"--offset {NEXT}" in read.err
