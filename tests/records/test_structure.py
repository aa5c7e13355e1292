"""Records that do not fill their batch exactly are found, in every codec."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.admission import RECORDS_MAX, UNBOUNDED_MS, AdmissionRules, admit
from barnabas.records.batch import HEADER_SIZE, read_header
from barnabas.records.compression import Codec, compress
from barnabas.records.record import Header, Record, build_batch, decode_body, seal
from barnabas.records.structure import SURVEYED_MAX, check_records, survey_records
from barnabas.records.varint import read_varint, varint
from barnabas.wire.errors import InvalidRecord, KafkaError, MessageTooLarge

NOW = 1_700_000_000_000
RULES = AdmissionRules(
    max_message_bytes=1_000_000,
    log_append_time=False,
    timestamp_before_max_ms=UNBOUNDED_MS,
    timestamp_after_max_ms=UNBOUNDED_MS,
    compression=None,
    compression_level=None,
    requires_key=False,
    decompressed_bytes_max=10_000_000,
)

records = st.builds(
    Record,
    timestamp=st.integers(NOW - 10_000, NOW + 10_000),
    key=st.none() | st.binary(max_size=100),
    value=st.none() | st.binary(max_size=100),
    headers=st.lists(st.builds(Header, st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple),
)


def walk(body: bytes, count: int) -> bool:
    """The plain version of following lengths: do `count` records fill the body?"""
    position = 0
    try:
        for _ in range(count):
            length, position = read_varint(body, position)
            if length < 0:
                return False
            position += length
    except (IndexError, InvalidRecord):
        return False
    return position == len(body)


def accepts(body: bytes, count: int) -> bool:
    """The same result for any position of the body, and any bytes after it."""
    alone = is_checked(body, 0, len(body), count)
    behind = body * 2 + b"\x10" * 300  # as if there were more of the same
    assert is_checked(bytearray(b"header" + body + behind), 6, 6 + len(body), count) == alone
    return alone


def is_checked(body: bytes | bytearray, position: int, limit: int, count: int) -> bool:
    try:
        check_records(body, position, limit, count)
    except InvalidRecord:
        return False
    return True


def mutated(body: bytes, rng: random.Random) -> bytes:
    data = bytearray(body)
    for _ in range(rng.randrange(3)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.2:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


@given(batch=st.lists(records, min_size=1, max_size=SURVEYED_MAX), rng=st.randoms(use_true_random=False))
def test_a_small_batch_is_taken_exactly_if_it_can_be_decoded(batch: list[Record], rng: random.Random) -> None:
    data = build_batch(batch)
    header = read_header(data)
    body = mutated(data[HEADER_SIZE:], rng)
    try:
        decoded = decode_body(header, body)
    except KafkaError:
        decoded = None
    assert accepts(body, header.record_count) == (decoded is not None)
    if decoded is not None:
        survey = survey_records(body, 0, len(body), header.record_count)
        deltas = [record.timestamp - header.base_timestamp for record in decoded]
        assert survey == (len(body), any(record.key is None for record in decoded), min(0, *deltas), max(0, *deltas))


@given(
    sizes=st.lists(st.tuples(st.sampled_from([0, 1, 57, 58, 90, 200, 9000]), st.integers(1, 80)), max_size=6),
    count_off_by=st.sampled_from([0, 0, 0, -1, 1, 40]),
    rng=st.randoms(use_true_random=False),
)
def test_lengths_are_followed_to_the_end_in_strides_and_in_steps(
    sizes: list[tuple[int, int]], count_off_by: int, rng: random.Random
) -> None:
    runs = [Record(timestamp=NOW, value=bytes(size)) for size, repeats in sizes for _ in range(repeats)]
    first = [Record(timestamp=NOW, value=b"first")] * SURVEYED_MAX
    data = build_batch(first + runs)
    count = read_header(data).record_count + count_off_by
    prefix_end = len(build_batch(first))
    rest = mutated(data[prefix_end:], rng) if runs else b""
    body = data[HEADER_SIZE:prefix_end] + rest
    assert accepts(body, count) == (count >= SURVEYED_MAX and walk(rest, count - SURVEYED_MAX))


def a_record(fields: bytes, length: int | None = None) -> bytes:
    data = bytearray()
    data += varint(len(fields) if length is None else length)
    return bytes(data + fields)


GOOD = a_record(b"\x00\x00\x00\x02k\x02v\x00")
LIES = {
    "a length of three bytes that looks right if two are read": b"\x82\x80\x00\x00\x00\x01\xf4\x7f" + bytes(8187),
    "a record longer than the batch": a_record(b"\x00\x00\x00\x02k\x02v\x00", length=50),
    "a record of negative length": a_record(b"\x00\x00\x00\x02k\x02v\x00", length=-3),
    "a record shorter than its fields": a_record(b"\x00\x00\x00\x02k\x02v\x00", length=5),
    "a key longer than its record": a_record(b"\x00\x00\x00\x7ek\x02v\x00"),
    "a key of negative length": a_record(b"\x00\x00\x00\x05k\x02v\x00"),
    "a value longer than its record": a_record(b"\x00\x00\x00\x02k\x7ev\x00"),
    "more headers than bytes": a_record(b"\x00\x00\x00\x02k\x02v\x7e"),
    "headers of negative number": a_record(b"\x00\x00\x00\x02k\x02v\x01"),
    "a header without a key": a_record(b"\x00\x00\x00\x02k\x02v\x02\x01\x00"),
    "a header without a key, in two bytes": a_record(b"\x00\x00\x00\x02k\x02v\x02\x81\x00\x00"),
    "bytes behind the headers": a_record(b"\x00\x00\x00\x02k\x02v\x00\x00"),
    "an offset of another record": a_record(b"\x00\x00\x0a\x02k\x02v\x00"),
    "a number without end": a_record(b"\x00" + b"\xff" * 11 + b"\x02k\x02v\x00"),
    "bytes behind the records": GOOD + b"\x00",
    "two records where one is claimed": GOOD + a_record(b"\x00\x00\x02\x02k\x02v\x00"),
    "no record at all": b"",
}


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("requires_key", [False, True])
def test_lies_behind_a_valid_crc_are_refused_in_every_codec(codec: Codec, lie: str, requires_key: bool) -> None:
    header = read_header(build_batch([Record(timestamp=NOW, key=b"k", value=b"v")], codec=codec))
    rules = RULES._replace(requires_key=requires_key)
    assert admit(seal(header, compress(codec, GOOD)), rules, NOW)
    with pytest.raises(InvalidRecord):
        admit(seal(header, compress(codec, LIES[lie])), rules, NOW)


@pytest.mark.parametrize("codec", Codec)
def test_a_count_that_lies_is_refused_in_every_codec(codec: Codec) -> None:
    data = build_batch([Record(timestamp=NOW, value=b"v")] * 50, codec=codec)
    for count in (1, 3, 49, 51, 5000):
        header = read_header(data)._replace(record_count=count, last_offset_delta=count - 1)
        with pytest.raises(InvalidRecord):
            admit(seal(header, data[HEADER_SIZE:]), RULES, NOW)


@pytest.mark.parametrize("codec", Codec)
def test_more_records_than_a_batch_may_have_are_to_be_split(codec: Codec) -> None:
    header = read_header(build_batch([Record(timestamp=NOW, value=b"v")], codec=codec))
    count = RECORDS_MAX + 1
    body = compress(codec, bytes(7) * count)
    with pytest.raises(MessageTooLarge, match="records"):
        admit(
            seal(header._replace(record_count=count, last_offset_delta=count - 1), body),
            RULES._replace(max_message_bytes=10_000_000),
            NOW,
        )
