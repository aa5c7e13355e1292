"""The decoder compared with the plain one: random batches, and damaged ones."""

import random
from itertools import pairwise
from typing import Any

import pytest
from fuzz.mutation import mutate
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_decoder import ALL_COLUMNS, plain_rows, table

from barnabas.records.batch import HEADER_SIZE, MAGIC, MAGIC_POSITION, read_header, split_batches
from barnabas.records.compression import Codec
from barnabas.records.control import EndTransactionMarker, marker_batch
from barnabas.records.record import Header, Record, build_batch, seal
from barnabas.spark.arrow.columns import Wanted
from barnabas.spark.arrow.decode import Limits, UnreadableRecords, decode, decode_in_steps
from barnabas.wire.errors import KafkaError
from property_effort import examples

sizes = st.one_of(st.integers(0, 3), st.integers(50, 80), st.sampled_from([63, 64, 8191, 8192, 20_000]))
contents = st.one_of(st.none(), sizes.map(lambda size: b"x" * size), st.binary(max_size=40))
timestamps = st.one_of(
    st.integers(1_700_000_000_000, 1_700_000_009_000), st.integers(-1, 100), st.integers(-(2**53), 2**53)
)
names = st.one_of(st.sampled_from(["", "h", "trace-id", "grüße", "\udcff\udc80"]), st.text(max_size=70))
headers = st.lists(st.builds(Header, names, contents), max_size=3).map(tuple)
records = st.builds(Record, timestamp=timestamps, key=contents, value=contents, headers=st.one_of(st.just(()), headers))


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, int]:
    """Batches one after the other, and the offset after the last one."""
    offset = draw(st.sampled_from([0, 5, 1 << 40]))
    pieces = []
    for _ in range(draw(st.integers(0, 6))):
        content = draw(st.lists(records, min_size=1, max_size=12))
        if draw(st.booleans()):  # many records of one length, as counters and sensors write them
            content = content[:1] * draw(st.sampled_from([1, 20, 70, 200]))
        gaps = draw(st.lists(st.integers(1, 3), min_size=len(content), max_size=len(content)))
        first = offset
        kept = []
        for record, gap in zip(content, gaps, strict=True):
            kept.append(record._replace(offset=offset))
            offset += gap
        last = offset - 1 + draw(st.integers(0, 3))
        append_time = draw(st.one_of(st.none(), st.just(1_700_000_123_456)))
        batch = build_batch(
            kept,
            base_offset=first,
            codec=draw(st.sampled_from(list(Codec))),
            keep_offsets=True,
            last_offset=last,
            log_append_time=append_time,
        )
        if draw(st.integers(0, 9)) == 0:  # what compaction leaves of a batch whose records are all gone
            batch = seal(read_header(batch)._replace(record_count=0, attributes=0), b"")
        pieces.append(batch)
        offset = last + 1 + draw(st.integers(0, 2))
    return b"".join(pieces), offset


def decoded(data: bytes, columns: tuple[str, ...], first_offset: int, end_offset: int, **options: Any) -> Any:
    return decode(
        data, topic="t", partition=3, columns=columns, first_offset=first_offset, end_offset=end_offset, **options
    )


def assert_equal(batch: Any, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    if not rows:
        assert batch is None
        return
    batch.validate(full=True)
    assert batch.equals(table(rows, columns))
    assert batch.schema.equals(table(rows, columns).schema, check_metadata=True)


@settings(max_examples=examples(80), deadline=None)
@given(logs(), st.data())
def test_every_row_is_what_the_plain_decoder_reads(log: tuple[bytes, int], data: st.DataObject) -> None:
    content, end = log
    first = data.draw(st.one_of(st.just(0), st.integers(max(end - 30, 0), end)))
    last = data.draw(st.one_of(st.just(1 << 62), st.integers(first, end + 1)))
    columns = tuple(data.draw(st.lists(st.sampled_from(ALL_COLUMNS), min_size=1, unique=True)))
    cut = data.draw(st.integers(0, 80))
    content = content[: len(content) - cut]
    assert_equal(
        decoded(content, columns, first, last).batch,
        plain_rows(content, first_offset=first, end_offset=last),
        columns,
    )


@settings(max_examples=examples(40), deadline=None)
@given(logs(), st.sampled_from([1, 2, 7, 100]), st.sampled_from([1, 300, 10_000]))
def test_steps_hold_the_same_rows_within_their_bounds(log: tuple[bytes, int], rows_max: int, bytes_max: int) -> None:
    content, end = log
    asked = Wanted("t", 3, ALL_COLUMNS, 0, end)
    steps = list(decode_in_steps(content, asked, limits=Limits(rows=rows_max, bytes=bytes_max)))
    assert steps[-1].next_offset == decoded(content, ALL_COLUMNS, 0, end).next_offset
    batches = [step.batch for step in steps if step.batch is not None]
    assert all(0 < len(batch) <= rows_max for batch in batches)
    assert all(earlier.next_offset <= later.next_offset for earlier, later in pairwise(steps))
    rows = [row for batch in batches for row in batch.drop_columns("timestamp").to_pylist()]
    expected = plain_rows(content, first_offset=0, end_offset=end)
    assert rows == [{name: value for name, value in row.items() if name != "timestamp"} for row in expected]


@settings(max_examples=examples(80), deadline=None)
@given(logs(), st.integers(0, 2**32), st.booleans())
def test_damage_is_refused_where_the_plain_decoder_refuses_it(
    log: tuple[bytes, int], seed: int, with_sound_crc: bool
) -> None:
    """The same rows or an error, for each batch whose body was damaged; never anything else."""
    content, _ = log
    rng = random.Random(seed)
    if with_sound_crc and len(content) > HEADER_SIZE:
        header = read_header(content)
        body = mutate(content[HEADER_SIZE : header.size], rng)
        count = rng.choice((header.record_count, header.record_count + 1, 0, -1, 1 << 30))
        content = seal(header._replace(record_count=count), body)
    else:
        content = mutate(content, rng)
    try:
        rows = plain_rows(content, first_offset=0, end_offset=1 << 62)
    except KafkaError:
        rows = None
    if rows is None:
        with pytest.raises(UnreadableRecords):
            decoded(content, ALL_COLUMNS, 0, 1 << 62, check_crc=with_sound_crc)
        return
    try:
        batch = decoded(content, ALL_COLUMNS, 0, 1 << 62, check_crc=with_sound_crc).batch
    except UnreadableRecords:
        assert_only_ours_may_refuse(content, rows)
        return
    assert_equal(batch, rows, ALL_COLUMNS)


def assert_only_ours_may_refuse(content: bytes, rows: list[dict[str, Any]]) -> None:
    """Values that a single batch can hold, but no log or no timestamp of Spark."""
    headers = [batch.header for batch in split_batches(content)]
    offsets = [offset for header in headers for offset in (header.base_offset, header.last_offset)]
    whole = sum(header.size for header in headers)
    spark_max = (2**63 - 1) // 1000
    assert (
        offsets != sorted(offsets)
        or any(not 0 <= offset < 1 << 62 for offset in offsets)
        or any(earlier.last_offset == later.base_offset for earlier, later in pairwise(headers))
        or any(abs(row["timestamp"]) > spark_max for row in rows)
        or content[whole + MAGIC_POSITION : whole + MAGIC_POSITION + 1] not in (b"", bytes((MAGIC,)))
    )


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["data", "commit", "abort"])), max_size=30), st.data())
def test_aborted_transactions_are_left_out(steps: list[tuple[int, str]], data: st.DataObject) -> None:
    """Producers write and end transactions at random; a fetch may begin anywhere in between."""
    offset = 0
    pieces: list[tuple[int, bytes]] = []
    open_since: dict[int, int] = {}
    open_values: dict[int, list[tuple[int, bytes]]] = {}
    aborted: list[tuple[int, int, int]] = []
    visible: list[tuple[int, bytes]] = []
    for number, (producer_id, step) in enumerate(steps):
        if step == "data":
            value = b"%d" % number
            batch = build_batch(
                [Record(0, 0, None, value)] * 2,
                base_offset=offset,
                producer_id=producer_id,
                producer_epoch=0,
                transactional=True,
            )
            open_since.setdefault(producer_id, offset)
            open_values.setdefault(producer_id, []).extend([(offset, value), (offset + 1, value)])
            pieces.append((offset, batch))
            offset += 2
        elif producer_id in open_since:
            marker = marker_batch(
                EndTransactionMarker(step == "commit", 0), producer_id=producer_id, producer_epoch=0, now_ms=0
            )
            pieces.append((offset, seal(marker.header._replace(base_offset=offset), marker.data[HEADER_SIZE:])))
            since = open_since.pop(producer_id)
            values = open_values.pop(producer_id)
            if step == "commit":
                visible += values
            else:
                aborted.append((producer_id, since, offset))
            offset += 1
    stable = min(open_since.values(), default=offset)
    begin = data.draw(st.integers(0, len(pieces)))
    fetched = [piece for piece in pieces[begin:] if piece[0] < stable]
    first = fetched[0][0] if fetched else stable
    content = b"".join(batch for _, batch in fetched)
    named = [(producer_id, since) for producer_id, since, end in aborted if end >= first and since < stable]
    got = decoded(content, ("offset", "value"), 0, stable, aborted=named).batch
    rows = [] if got is None else [(row["offset"], row["value"]) for row in got.to_pylist()]
    assert rows == sorted(row for row in visible if first <= row[0] < stable)
