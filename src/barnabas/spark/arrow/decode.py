"""Decodes fetched bytes into Arrow: complete batches in, rows of a range of offsets out.

Headers decide which batches are needed (`batches`). Those are decompressed, the starts of all their records are found
(`walk`), and the columns are read for all of them at once (`columns`). Everything is bounded: a step takes batches up
to a number of rows or bytes, and a batch with more rows is split into several steps.

Invalid bytes raise `UnreadableRecords`: nothing is read outside the buffer, and every number is checked against the
available bytes before it is used.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from barnabas.records.batch import CODEC_MASK, HEADER_SIZE, Buffer
from barnabas.records.compression import Codec, decompress, decompress_into
from barnabas.spark.arrow.batches import Batches, find_batches, wanted
from barnabas.spark.arrow.columns import Rows, Wanted, build
from barnabas.spark.arrow.varints import Octets
from barnabas.spark.arrow.walk import Bodies, record_starts
from barnabas.spark.errors import UserError
from barnabas.wire.errors import KafkaError, MessageTooLarge, UnsupportedForMessageFormat

STEP_ROWS: Final = 1 << 16
STEP_BYTES: Final = 8 << 20
"""Decompressed. A step takes the same number of calls whatever its size: with records of 1 KB, which are few, steps of
4 MB took a worker a tenth to a fifth more CPU time."""
_STEP_BYTES_MAX: Final = 64 << 20
_LAST_BATCH_BYTES: Final = 4 << 20
"""Room for a batch that begins before a step is full. A larger batch gets its own step."""
BATCH_BYTES_MAX: Final = 128 << 20
"""What one batch may decompress to. Brokers accept batches of 1 MB by default, which seldom decompress to 10 MB."""


class UnreadableRecords(UserError):
    """The bytes of a partition are not valid record batches of format 2."""


class Decoded(NamedTuple):
    batch: Any
    """`pa.RecordBatch` with at least one row; None if no record is requested."""
    next_offset: int
    """The offset after the last complete batch; the first requested offset if there was none."""


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

    `aborted` are the transactions (producer id, first offset) that the Fetch response names; `timestamp_ms` bounds the
    records' timestamps, the second one exclusive.
    """
    unbounded = Limits(rows=1 << 31, bytes=1 << 31)
    asked = Wanted(topic, partition, tuple(columns), first_offset, end_offset, *timestamp_ms)
    steps = list(decode_in_steps(data, asked, aborted=aborted, limits=unbounded, check_crc=check_crc))
    batches = [step.batch for step in steps if step.batch is not None]
    if len(batches) > 1:  # compressed and uncompressed ones are decoded separately
        batches = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return Decoded(batches[0] if batches else None, steps[-1].next_offset)


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
    """The complete batches of a fetch, so that the next fetch can be sent while this one is decoded."""
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
    """`decode_in_steps` for the batches that `scan` has found."""
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
        return UnreadableRecords(message, "let producers write smaller batches (batch.size), or start after this one")
    if isinstance(error, UnsupportedForMessageFormat):
        return UnreadableRecords(message, "copy the topic with a current producer: Kafka 4 has dropped these formats")
    return UnreadableRecords(
        message,
        "look at the partition with the broker's tools (kafka-dump-log, barnabas log verify); if it is damaged there, "
        "start after the damage with startingOffsets",
    )


def _steps(data: Buffer, batches: Batches, limits: Limits) -> Iterator[_Step]:
    """Neighbouring batches, decompressed, as many as fit."""
    view = memoryview(data)
    is_compressed = batches.attributes & CODEC_MASK != Codec.NONE
    ends_of_records = np.cumsum(batches.record_counts)
    first = 0
    while first < len(batches.positions):
        before = int(ends_of_records[first] - batches.record_counts[first])
        # Up to the rows that fit, and as long as all batches are compressed, or none is.
        stop = int(np.searchsorted(ends_of_records, before + limits.rows, side="right"))
        changes = np.flatnonzero(is_compressed[first:stop] != is_compressed[first])
        stop = max(first + int(changes[0]) if len(changes) else stop, first + 1)
        if is_compressed[first]:
            step = _decompressed(view, batches.where(slice(first, stop)), limits)
        else:
            low = int(batches.positions[first])
            stop = max(int(np.searchsorted(batches.ends[:stop], low + limits.bytes, side="right")), first + 1)
            step = _uncompressed(view, batches.where(slice(first, stop)))
        yield step
        first += len(step.bodies.counts)


def _uncompressed(view: memoryview, batches: Batches) -> _Step:
    """In place: the batch headers between the records do not matter."""
    low, high = int(batches.positions[0]), int(batches.ends[-1])
    bodies = Bodies(batches.positions + (HEADER_SIZE - low), batches.ends - low, batches.record_counts)
    return _Step(Octets(view[low:high]), bodies, batches)


def _decompressed(view: memoryview, batches: Batches, limits: Limits) -> _Step:
    """The first of them, as many as fit, in one new buffer."""
    wanted_bytes = min(limits.bytes, _STEP_BYTES_MAX)
    room: Buffer = np.empty(wanted_bytes + _LAST_BATCH_BYTES, np.uint8).data
    codecs = (batches.attributes & CODEC_MASK).tolist()
    ends = [0]
    rows = zip(codecs, (batches.positions + HEADER_SIZE).tolist(), batches.ends.tolist(), strict=True)
    for codec, start, end in rows:
        left = memoryview(room)[ends[-1] :]
        size = decompress_into(codec, view[start:end], left[: limits.batch_bytes])
        if size is None:
            piece = decompress(codec, view[start:end], max_bytes=limits.batch_bytes)
            size = len(piece)
            if size <= len(left):
                left[:size] = piece
            elif len(ends) == 1:
                room = piece
            else:
                break  # it begins the next step
        ends.append(ends[-1] + size)
        if ends[-1] >= wanted_bytes:
            break
    part = batches.where(slice(len(ends) - 1))
    edges = np.array(ends, np.int64)
    return _Step(Octets(memoryview(room)[: ends[-1]]), Bodies(edges[:-1], edges[1:], part.record_counts), part)


def _decode_step(step: _Step, asked: Wanted, rows_max: int) -> Iterator[Any]:
    starts = record_starts(step.octets, step.bodies)
    counts = step.bodies.counts
    ends_of_batches = np.cumsum(counts)
    for low in range(0, len(starts), rows_max):
        high = min(low + rows_max, len(starts))
        # The batches that have records among these, and how many.
        first = int(np.searchsorted(ends_of_batches, low, side="right"))
        stop = int(np.searchsorted(ends_of_batches, high, side="left")) + 1
        batches = step.batches.where(slice(first, stop))
        edges = np.minimum(ends_of_batches[first:stop], high)
        # A record ends where the next one begins, the last one of a batch where the batch ends.
        ends = np.empty(high - low, np.int64)
        following = starts[low + 1 : high + 1]
        ends[: len(following)] = following
        whole = ends_of_batches[first:stop] <= high
        ends[edges[whole] - low - 1] = step.bodies.ends[first:stop][whole]
        rows = Rows(
            starts[low:high],
            ends,
            np.diff(edges, prepend=low),
            batches.base_offsets,
            batches.last_offset_deltas,
            batches.attributes,
            batches.base_timestamps,
            batches.max_timestamps,
        )
        batch = build(step.octets, rows, asked)
        if batch is not None:
            yield batch
