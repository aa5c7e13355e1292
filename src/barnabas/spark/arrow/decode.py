"""Fetched bytes to Arrow: whole batches in, rows of a range of offsets out.

Headers decide which batches are needed at all (`batches`), those are decompressed, the starts of all their records are
found (`walk`), and the columns are read for all of them at once (`columns`). Everything is bounded: a step takes up
batches until it has so many rows or bytes, a batch with more rows than a step may have is cut into several.

Bytes that are not what they claim to be end in `UnreadableRecords`, whatever they are: nothing is read outside the
buffer, and no number in it is believed before it was held against the bytes that are there.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from barnabas.records.batch import CODEC_MASK, HEADER_SIZE, Buffer
from barnabas.records.compression import Codec, decompress
from barnabas.spark.arrow.batches import Batches, find_batches, wanted
from barnabas.spark.arrow.columns import Rows, Wanted, build
from barnabas.spark.arrow.varints import Octets
from barnabas.spark.arrow.walk import Bodies, record_starts
from barnabas.spark.errors import UserError
from barnabas.wire.errors import KafkaError, MessageTooLarge, UnsupportedForMessageFormat

STEP_ROWS: Final = 1 << 16
STEP_BYTES: Final = 32 << 20
BATCH_BYTES_MAX: Final = 128 << 20
"""What one batch may decompress to. A broker takes batches of a megabyte by default, which seldom hold 10 MB."""


class UnreadableRecords(UserError):
    """The bytes of a partition are not record batches of format 2, or not the records that they claim to be."""


class Decoded(NamedTuple):
    batch: Any
    """`pa.RecordBatch` with at least one row; None where no record is wanted."""
    next_offset: int
    """What follows the last batch that was seen whole; the first offset asked for if there was none."""


class Limits(NamedTuple):
    rows: int = STEP_ROWS
    bytes: int = STEP_BYTES
    batch_bytes: int = BATCH_BYTES_MAX


class _Step(NamedTuple):
    octets: Octets
    bodies: Bodies
    batches: Batches


def decode(
    data: Buffer,
    *,
    topic: str,
    partition: int,
    columns: Sequence[str],
    first_offset: int,
    end_offset: int,
    aborted: Iterable[tuple[int, int]] = (),
    timestamp_ms: tuple[int | None, int | None] = (None, None),
    check_crc: bool = True,
) -> Decoded:
    """All records of `data` with offsets from `first_offset` up to, not including, `end_offset`, in one Arrow batch.

    `aborted` are the transactions (producer id, first offset) that the Fetch answer names; `timestamp_ms` bounds the
    records' timestamps, the second one exclusive.
    """
    unbounded = Limits(rows=1 << 31, bytes=1 << 31)
    asked = Wanted(topic, partition, tuple(columns), first_offset, end_offset, *timestamp_ms)
    steps = list(decode_in_steps(data, asked, aborted=aborted, limits=unbounded, check_crc=check_crc))
    return steps[-1]


def decode_in_steps(
    data: Buffer,
    asked: Wanted,
    *,
    aborted: Iterable[tuple[int, int]] = (),
    limits: Limits | None = None,
    check_crc: bool = True,
) -> Iterator[Decoded]:
    """The same in pieces of bounded size. The last one has the `next_offset` of the whole, and possibly no batch."""
    batches = scan(data, asked, check_crc=check_crc)
    return decode_batches(data, batches, asked, aborted=aborted, limits=limits)


def scan(data: Buffer, asked: Wanted, *, check_crc: bool = True) -> Batches:
    """The whole batches of a fetch, so that the next one can be on its way while this one is decoded."""
    try:
        return find_batches(data, check_crc=check_crc)
    except KafkaError as error:
        raise _unreadable(error, asked) from error


def decode_batches(
    data: Buffer,
    batches: Batches,
    asked: Wanted,
    *,
    aborted: Iterable[tuple[int, int]] = (),
    limits: Limits | None = None,
) -> Iterator[Decoded]:
    """`decode_in_steps` of what `scan` has found."""
    limits = limits or Limits()
    next_offset = batches.next_offset(asked.first_offset)
    try:
        chosen = batches.where(
            wanted(
                batches,
                data,
                first_offset=asked.first_offset,
                end_offset=asked.end_offset,
                aborted=aborted,
                timestamp_ms_min=asked.timestamp_ms_min,
            )
        )
        ready: Decoded | None = None
        for step in _steps(data, chosen, limits):
            for batch in _decode_step(step, asked, limits.rows):
                if ready is not None:
                    yield ready
                ready = Decoded(batch, int(step.batches.last_offsets[-1]) + 1)
    except KafkaError as error:
        raise _unreadable(error, asked) from error
    yield Decoded(None if ready is None else ready.batch, next_offset)


def _unreadable(error: KafkaError, asked: Wanted) -> UnreadableRecords:
    message = f"Cannot read {asked.topic}-{asked.partition} from offset {asked.first_offset} on: {error}."
    if isinstance(error, MessageTooLarge):
        return UnreadableRecords(message, "let producers write smaller batches (batch.size), or begin behind this one")
    if isinstance(error, UnsupportedForMessageFormat):
        return UnreadableRecords(message, "copy the topic with a current producer: Kafka 4 has dropped these formats")
    return UnreadableRecords(
        message,
        "look at the partition with the broker's tools (kafka-dump-log, barnabas log verify); if it is damaged there, "
        "begin behind the damage with startingOffsets",
    )


def _steps(data: Buffer, batches: Batches, limits: Limits) -> Iterator[_Step]:
    """Neighbouring batches, decompressed, as many as fit."""
    count = len(batches.positions)
    codecs = (batches.attributes & CODEC_MASK).tolist()
    starts, ends = (batches.positions + HEADER_SIZE).tolist(), batches.ends.tolist()
    records = batches.record_counts.tolist()
    view = memoryview(data)
    first = 0
    while first < count:
        pieces: list[Buffer] = []
        size = rows = 0
        compressed = False
        index = first
        while index < count and (index == first or (rows + records[index] <= limits.rows and size < limits.bytes)):
            body: Buffer = view[starts[index] : ends[index]]
            if codecs[index] != Codec.NONE:
                compressed = True
                body = decompress(codecs[index], body, max_bytes=limits.batch_bytes)
            elif not compressed and index > first and size + len(body) > limits.bytes:
                break
            pieces.append(body)
            size += len(body)
            rows += records[index]
            index += 1
        part = batches.where(slice(first, index))
        if compressed:
            sizes = np.array([len(piece) for piece in pieces], np.int64)
            body_ends = np.cumsum(sizes)
            bodies = Bodies(body_ends - sizes, body_ends, part.record_counts)
            joined = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.clear()
            yield _Step(Octets(joined), bodies, part)
        else:
            low, high = starts[first], ends[index - 1]
            bodies = Bodies(part.positions + (HEADER_SIZE - low), part.ends - low, part.record_counts)
            yield _Step(Octets(view[low:high]), bodies, part)
        first = index


def _decode_step(step: _Step, asked: Wanted, rows_max: int) -> Iterator[Any]:
    starts = record_starts(step.octets, step.bodies)
    counts = step.bodies.counts
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    ends[np.cumsum(counts) - 1] = step.bodies.ends
    batch_of = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    for low in range(0, len(starts), rows_max):
        part = slice(low, low + rows_max)
        rows = Rows(
            starts[part],
            ends[part],
            batch_of[part],
            step.batches.base_offsets,
            step.batches.last_offset_deltas,
            step.batches.attributes,
            step.batches.base_timestamps,
            step.batches.max_timestamps,
        )
        batch = build(step.octets, rows, asked)
        if batch is not None:
            yield batch
