"""Reads everything back and compares it with what was acknowledged."""

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
    key: str | None
    leader_epoch: int
    writer: str
    number: int
    value: bytes


def read_partition(servers: str, partition: TopicPartition) -> list[Stored]:
    """Everything, from offset 0 to the high watermark, without a gap."""
    stored = read_what_is_left(servers, partition)
    assert [each.offset for each in stored] == list(range(len(stored))), f"the offsets of {partition} have holes"
    return stored


def read_what_is_left(servers: str, partition: TopicPartition) -> list[Stored]:
    """From the first record that is there to the high watermark."""
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
        _, end = consumer.get_watermark_offsets(Position(*partition), timeout=20)
        consumer.assign([Position(*partition, OFFSET_BEGINNING)])
        while (stored[-1].offset if stored else -1) < end - 1:
            messages = consumer.consume(min(end - len(stored), 10_000), timeout=20)
            assert messages, f"{partition} gave nothing more after {stored[-1:]}, its end is {end}"
            for message in messages:
                assert message.error() is None, message.error()
                writer, number, _ = message.value().decode().split(":")
                key = None if message.key() is None else message.key().decode()
                place = (message.offset(), key, message.leader_epoch())
                stored.append(Stored(*place, writer, int(number), message.value()))
    finally:
        consumer.close()
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


def check_compacted(writer: Writer, partition: TopicPartition, stored: list[Stored]) -> int:
    """The last record of every key is there, the others in order as far as they are left; returns how many are gone."""
    numbers = _check_ascending(writer, partition, stored)
    left = {each.key: each.number for each in stored}
    for (place, key), number in writer.last_number.items():
        if place == partition:
            assert left.get(key) == number, f"{key} in {partition} is at record {left.get(key)}, not at {number}"
    return writer.sent[partition] - len(numbers)


def check_retained(writer: Writer, partition: TopicPartition, stored: list[Stored]) -> int:
    """The records that retention left are complete; returns how many were deleted."""
    numbers = _check_ascending(writer, partition, stored)
    sent = writer.sent[partition]
    assert numbers == list(range(sent - len(numbers), sent)), f"{partition}: {_first_oddity(numbers)}"
    first = stored[0].offset
    assert [each.offset for each in stored] == list(range(first, first + len(stored))), f"{partition} has holes"
    return sent - len(numbers)


def _check_ascending(writer: Writer, partition: TopicPartition, stored: list[Stored]) -> list[int]:
    """Once each, in order, and where they were acknowledged; the numbers that are left."""
    numbers = [each.number for each in stored]
    assert numbers == sorted(set(numbers)), f"{writer.name} in {partition}: {_first_oddity(numbers)}"
    acknowledged = {each.number: each.offset for each in writer.acknowledged[partition]}
    for each in stored:
        offset = acknowledged[each.number]
        assert offset in (each.offset, -1), f"{each} of {partition} was acknowledged at offset {offset}"
    return numbers


def _first_oddity(numbers: list[int]) -> str:
    for place, number in enumerate(numbers):
        if place != number:
            return f"record {place} should be next and {number} is, around {numbers[max(0, place - 5) : place + 5]}"
    return f"all is well up to record {len(numbers)}, where it ends"


def by_epoch(stored: list[Stored]) -> dict[int, list[Stored]]:
    """The records by leader epoch: every unclean restart starts a new one."""
    epochs: dict[int, list[Stored]] = {}
    for each in stored:
        epochs.setdefault(each.leader_epoch, []).append(each)
    return epochs


def unanswered_writes(
    writer: Writer,
    stored: dict[TopicPartition, dict[int, list[Stored]]],
    acknowledged: dict[TopicPartition, int],
    epochs: dict[TopicPartition, int],
) -> int:
    """Records that the broker wrote in these leader epochs and never acknowledged."""
    return sum(
        each.writer == writer.name and each.number >= acknowledged[partition]
        for partition in writer.partitions
        for each in stored[partition].get(epochs[partition], ())
    )


def count_sound_segments(data_dir: Path, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Segments per partition of a stopped broker, after checking every batch in them."""
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
