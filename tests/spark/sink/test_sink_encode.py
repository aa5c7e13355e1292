"""Encoding from Arrow columns gives the same bytes as encoding row by row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.client.producer_batch import sign
from barnabas.records.batch import HEADER_SIZE, crc_is_valid, read_batch
from barnabas.records.compression import Codec
from barnabas.records.record import Header, Record, build_batch, decode_records
from barnabas.spark.arrow.encode import BatchLimits, Columns, GroupBatch, RowTooLarge, encode
from barnabas.spark.arrow.encode_headers import BadHeaders
from barnabas.spark.arrow.encode_varints import varint_sizes, write_varints, zigzag
from property_effort import examples

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
WIDE = BatchLimits(batch_bytes_max=1 << 20, request_bytes_max=1 << 20)
NOW_MS = 1_700_000_000_123

content = st.one_of(st.none(), st.binary(max_size=20), st.sampled_from([b"", b"x" * 63, b"y" * 64, b"z" * 9000]))
header = st.builds(Header, st.text(max_size=6), st.one_of(st.none(), st.binary(max_size=6)))
rows = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.one_of(st.integers(0, 1 << 50), st.sampled_from([0, NOW_MS, (1 << 63) - 1])),
        key=content,
        value=content,
        headers=st.lists(header, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=12,
)

plain_row = st.builds(
    Record,
    offset=st.just(0),
    timestamp=st.just(NOW_MS),
    key=st.none(),
    value=st.binary(max_size=9),
    headers=st.just(()),
)


def columns_of(records: Sequence[Record]) -> Columns:
    return Columns(
        value=pa.array([one.value for one in records], pa.binary()),
        key=pa.array([one.key for one in records], pa.binary()),
        headers=pa.array([[header._asdict() for header in one.headers] for one in records], HEADERS),
        timestamps_ms=np.array([one.timestamp for one in records], np.int64),
    )


def read(batches: Sequence[GroupBatch]) -> list[tuple[int, Record]]:
    """(group, record) of all records, with offsets from 0 in each batch."""
    return [
        (group, record) for group, batch in batches for record in decode_records(read_batch(batch), max_bytes=1 << 30)
    ]


@given(records=rows)
def test_one_batch_has_the_bytes_of_the_plain_encoder(records: list[Record]) -> None:
    ((_, batch),) = encode(columns_of(records), now_ms=NOW_MS, limits=WIDE)
    sign(batch)
    assert bytes(batch) == build_batch(records)


@given(records=rows, codec=st.sampled_from(list(Codec)))
def test_every_codec(records: list[Record], codec: Codec) -> None:
    ((_, batch),) = encode(columns_of(records), now_ms=NOW_MS, limits=WIDE, codec=codec)
    sign(batch, producer_id=7, producer_epoch=2, base_sequence=11, transactional=True)
    whole = read_batch(batch)
    assert crc_is_valid(whole)
    assert whole.header.codec == codec
    expected = build_batch(records, codec=codec, producer_id=7, producer_epoch=2, base_sequence=11, transactional=True)
    assert whole.header == read_batch(expected).header
    assert [one._replace(offset=0) for one in decode_records(whole, max_bytes=1 << 30)] == records


@settings(max_examples=examples(60))
@given(records=rows, data=st.data())
def test_rows_are_ordered_grouped_and_cut(records: list[Record], data: st.DataObject) -> None:
    count = len(records)
    order = data.draw(st.permutations(range(count)))
    borders = sorted(data.draw(st.sets(st.integers(1, count), max_size=5)) | {count})
    groups = list(zip([0, *borders[:-1]], borders, strict=True))
    batch_bytes_max = data.draw(st.sampled_from([1, 100, 300, 1 << 20]))
    limits = BatchLimits(batch_bytes_max=batch_bytes_max, request_bytes_max=1 << 20)
    batches = list(encode(columns_of(records), groups=groups, order=np.array(order), now_ms=NOW_MS, limits=limits))
    expected = [
        (group, records[order[place]]) for group, (begin, end) in enumerate(groups) for place in range(begin, end)
    ]
    assert [(group, one._replace(offset=0)) for group, one in read(batches)] == expected
    for _, batch in batches:
        assert len(batch) <= batch_bytes_max or read_batch(batch).header.record_count == 1


@given(
    records=st.lists(plain_row, min_size=1, max_size=20),
    start=st.integers(0, 5),
)
def test_columns_that_are_not_there_and_slices(records: list[Record], start: int) -> None:
    """Without keys, headers and timestamps; the value is a slice of a longer array."""
    values = pa.array([b"before"] * start + [one.value for one in records] + [b"after"], pa.binary())
    ((_, batch),) = encode(Columns(values.slice(start, len(records))), now_ms=NOW_MS, limits=WIDE)
    sign(batch)
    assert bytes(batch) == build_batch(records)


def test_sliced_headers_and_null_lists_that_hide_something() -> None:
    whole = pa.array([[{"key": "a", "value": b"1"}], [{"key": "b", "value": None}], [], None], HEADERS)
    hiding = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 2, 2], pa.int32()), whole.values, mask=pa.array([False, True, False, True])
    )
    values = pa.array([b"v"] * 3, pa.binary())
    ((_, batch),) = encode(Columns(values, headers=hiding.slice(0, 3)), now_ms=1, limits=WIDE)
    records = decode_records(read_batch(batch), max_bytes=1 << 20)
    assert [one.headers for one in records] == [(Header("a", b"1"),), (), ()]
    ((_, batch),) = encode(Columns(values, headers=whole.slice(1)), now_ms=1, limits=WIDE)
    records = decode_records(read_batch(batch), max_bytes=1 << 20)
    assert [one.headers for one in records] == [(Header("b", None),), (), ()]


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (pa.array([[{"key": None, "value": b"1"}]], HEADERS), "no key"),
        (pa.array([[None]], HEADERS), "null"),
    ],
)
def test_headers_that_no_record_can_have(headers: Any, said: str) -> None:
    with pytest.raises(BadHeaders, match=said):
        list(encode(Columns(pa.array([b"v"], pa.binary()), headers=headers), now_ms=1, limits=WIDE))


def test_a_row_that_no_request_holds_is_refused() -> None:
    limits = BatchLimits(batch_bytes_max=100, request_bytes_max=1000)
    fits = Columns(pa.array([b"a", b"x" * 900], pa.binary()))
    assert [read_batch(batch).header.record_count for _, batch in encode(fits, now_ms=1, limits=limits)] == [1, 1]
    with pytest.raises(RowTooLarge) as refused:
        list(encode(Columns(pa.array([b"a", b"x" * 1000], pa.binary())), now_ms=1, limits=limits))
    assert refused.value.size_bytes > refused.value.request_bytes_max == 1000


def test_no_rows_make_no_batch() -> None:
    assert list(encode(Columns(pa.array([], pa.binary())), now_ms=1, limits=WIDE)) == []


def test_many_rows_whose_deltas_need_more_bytes() -> None:
    count = 40_000
    columns = Columns(pa.array([b"v"] * count, pa.binary()), timestamps_ms=np.arange(count, 0, -1) * 1000)
    ((_, batch),) = encode(columns, now_ms=1, limits=WIDE)
    records = decode_records(read_batch(batch), max_bytes=1 << 30)
    assert [one.offset for one in records] == list(range(count))
    assert [one.timestamp for one in records] == [(count - index) * 1000 for index in range(count)]
    assert read_batch(batch).header.max_timestamp == count * 1000
    assert len(batch) > HEADER_SIZE + count * 7


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=50))
def test_varints_by_the_column_are_those_of_the_plain_encoder(values: list[int]) -> None:
    from barnabas.records.varint import varint

    zigzags = zigzag(np.array(values, np.int64))
    sizes = varint_sizes(zigzags)
    starts = np.cumsum(sizes) - sizes
    target = np.zeros(int(sizes.sum()), np.uint8)
    write_varints(target, starts, zigzags, sizes)
    assert target.tobytes() == b"".join(varint(value) for value in values)
