"""Reads everything back and holds it against what was acknowledged."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as Position
from kill_writers import Writer

from barnabas.model import TopicPartition
from barnabas.records.batch import crc_is_valid, split_batches


class Stored(NamedTuple):
    offset: int
    leader_epoch: int
    writer: str
    number: int
    value: bytes


def read_partition(servers: str, partition: TopicPartition) -> list[Stored]:
    """From the first record to the high watermark."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "auditor",
            "enable.auto.commit": False,
            "check.crcs": True,
            "enable.partition.eof": False,
        }
    )
    stored: list[Stored] = []
    try:
        start, end = consumer.get_watermark_offsets(Position(*partition), timeout=20)
        assert start == 0
        consumer.assign([Position(*partition, OFFSET_BEGINNING)])
        while len(stored) < end:
            messages = consumer.consume(min(end - len(stored), 10_000), timeout=20)
            assert messages, f"{partition} gave nothing more after {stored[-1:]}, its end is {end}"
            for message in messages:
                assert message.error() is None, message.error()
                writer, number, _ = message.value().decode().split(":")
                stored.append(Stored(message.offset(), message.leader_epoch(), writer, int(number), message.value()))
    finally:
        consumer.close()
    assert [each.offset for each in stored] == list(range(end)), f"the offsets of {partition} have holes"
    return stored


def check_writer(writer: Writer, partition: TopicPartition, stored: list[Stored]) -> int:
    """Nothing acknowledged is missing, order is kept; returns how many records are there more than once."""
    own = [each for each in stored if each.writer == writer.name]
    numbers = [each.number for each in own]
    where = f"{writer.name} in {partition}"
    if writer.idempotent:
        assert numbers == list(range(writer.sent[partition])), f"{where}: {_first_oddity(numbers)}"
    first_seen = list(dict.fromkeys(numbers))
    assert first_seen == list(range(writer.sent[partition])), f"{where}: {_first_oddity(first_seen)}"
    by_offset = {each.offset: each.number for each in own}
    for acknowledged in writer.acknowledged[partition]:
        if acknowledged.offset >= 0:
            found = by_offset.get(acknowledged.offset)
            assert found == acknowledged.number, f"{where}: {acknowledged}, and there is {found}"
    return len(numbers) - len(first_seen)


def _first_oddity(numbers: list[int]) -> str:
    for place, number in enumerate(numbers):
        if place != number:
            return f"record {place} should be next and {number} is, around {numbers[max(0, place - 5) : place + 5]}"
    return f"all is well up to record {len(numbers)}, where it ends"


def unanswered_writes(
    writer: Writer,
    stored: dict[TopicPartition, list[Stored]],
    acknowledged: dict[TopicPartition, int],
    epochs: dict[TopicPartition, int],
) -> int:
    """Records that the broker wrote in the life with these leader epochs and never acknowledged in it."""
    return sum(
        each.writer == writer.name and each.leader_epoch == epochs[partition] and each.number >= acknowledged[partition]
        for partition in writer.partitions
        for each in stored[partition]
    )


def count_sound_segments(data_dir: Path, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Segments per partition of a stopped broker, after a look at every batch in them."""
    segments = dict.fromkeys(partitions, 0)
    for partition in partitions:
        for path in (data_dir / str(partition)).glob("*.log"):
            data = path.read_bytes()
            size = 0
            for batch in split_batches(data):
                assert crc_is_valid(batch), f"{path} at {size}"
                size += batch.header.size
            assert size == len(data), f"{path} ends in {len(data) - size} bytes that are no batch"
            segments[partition] += 1
    return segments
