import contextlib
import random
import warnings
from collections.abc import Callable

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import HEADER_SIZE, Batch, crc_is_valid, read_batch, read_header
from barnabas.records.compression import Codec
from barnabas.records.control import ControlType, decode_control_key, encode_control_key
from barnabas.records.record import Header, Record, build_batch, build_plain_batch, decode_records, seal
from barnabas.records.varint import read_varint, varint
from barnabas.wire.errors import InvalidRecord, KafkaError

with warnings.catch_warnings():  # kafka-python reads its schemas in a way that Python deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

MAX_BYTES = 1 << 24

headers = st.lists(st.builds(Header, st.text(max_size=10), st.none() | st.binary(max_size=10)), max_size=3)
contents = st.lists(
    st.builds(
        Record,
        timestamp=st.just(-1) | st.integers(0, 2**62),
        key=st.none() | st.binary(max_size=20),
        value=st.none() | st.binary(max_size=200),
        headers=headers.map(tuple),
    ),
    min_size=1,
    max_size=20,
)


def decode(data: bytes) -> list[Record]:
    batch = read_batch(data)
    assert crc_is_valid(batch)
    return decode_records(batch, max_bytes=MAX_BYTES)


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_varints_round_trip(value: int) -> None:
    data = bytearray()
    data += varint(value)
    assert read_varint(bytes(data), 0, 64) == (value, len(data))
    if -(2**31) <= value < 2**31:
        assert read_varint(b"x" + bytes(data), 1) == (value, len(data) + 1)
    else:
        with pytest.raises(InvalidRecord):
            read_varint(bytes(data), 0)


def test_varints_without_end_are_refused() -> None:
    for bits in (32, 64):
        with pytest.raises(InvalidRecord):
            read_varint(b"\x80" * 1000, 0, bits)
    with pytest.raises(IndexError):
        read_varint(b"\x80\x80", 0)


@given(records=contents, codec=st.sampled_from(Codec), base_offset=st.integers(0, 2**62))
def test_decoding_is_the_inverse_of_building(records: list[Record], codec: Codec, base_offset: int) -> None:
    decoded = decode(build_batch(records, codec=codec, base_offset=base_offset))
    assert decoded == [record._replace(offset=base_offset + n) for n, record in enumerate(records)]


# aiokafka takes a first timestamp of -1 for "not set yet".
timed_contents = contents.map(
    lambda records: [record._replace(timestamp=max(0, record.timestamp)) for record in records]
)


@given(records=timed_contents, codec=st.sampled_from(Codec), producer=st.booleans())
def test_aiokafka_builds_and_reads_the_same(records: list[Record], codec: Codec, producer: bool) -> None:
    ids = {"producer_id": 5, "producer_epoch": 1, "base_sequence": 3} if producer else {}
    theirs = AiokafkaBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=producer,
        producer_id=ids.get("producer_id", -1),
        producer_epoch=ids.get("producer_epoch", -1),
        base_sequence=ids.get("base_sequence", -1),
        batch_size=1 << 20,
    )
    for offset, record in enumerate(records):
        theirs.append(offset, record.timestamp, record.key, record.value, [tuple(header) for header in record.headers])
    built = bytes(theirs.build())
    ours = build_batch(records, codec=codec, transactional=producer, **ids)
    if codec is Codec.NONE:
        # Their builder leaves the leader epoch at 0, outside the CRC; ours says that there is none yet.
        assert built[:12] + built[16:] == ours[:12] + ours[16:]
    assert decode(built) == decode(ours)

    read = AiokafkaBatch(ours)
    assert read.validate_crc()
    seen = [(r.offset, r.timestamp, r.key, r.value, [tuple(h) for h in r.headers]) for r in read]
    assert seen == [(n, r.timestamp, r.key, r.value, [tuple(h) for h in r.headers]) for n, r in enumerate(records)]


@given(records=contents, codec=st.sampled_from([Codec.NONE, Codec.GZIP, Codec.LZ4]))
def test_kafka_python_builds_and_reads_the_same(records: list[Record], codec: Codec) -> None:
    theirs = KafkaPythonBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for offset, record in enumerate(records):
        theirs.append(offset, record.timestamp, record.key, record.value, [tuple(header) for header in record.headers])
    ours = build_batch(records, codec=codec)
    assert decode(bytes(theirs.build())) == decode(ours)
    read = KafkaPythonBatch(ours)
    assert read.validate_crc()
    assert [(r.timestamp, r.key, r.value) for r in read] == [(r.timestamp, r.key, r.value) for r in records]


def test_log_append_time_is_every_records_time() -> None:
    data = build_batch([Record(timestamp=1), Record(timestamp=9)], log_append_time=7)
    assert [record.timestamp for record in decode(data)] == [7, 7]
    assert read_header(data).max_timestamp == 7


def test_a_delete_horizon_takes_the_base_timestamp_and_no_records() -> None:
    records = [Record(timestamp=100), Record(timestamp=50)]
    data = build_batch(records, delete_horizon_ms=77)
    assert read_header(data).base_timestamp == 77
    assert [record.timestamp for record in decode(data)] == [100, 50]


def test_kept_offsets_leave_gaps_as_compaction_does() -> None:
    records = [Record(offset=offset, key=b"k") for offset in (12, 15)]
    data = build_batch(records, base_offset=10, keep_offsets=True, last_offset=19)
    assert decode(data) == records
    assert read_header(data).last_offset == 19
    with pytest.raises(ValueError, match="ascend"):
        build_batch(records[::-1], base_offset=10, keep_offsets=True)
    with pytest.raises(ValueError, match="ascend"):
        build_batch(records, base_offset=13, keep_offsets=True)
    with pytest.raises(ValueError, match="at least one"):
        build_batch([])


def test_header_keys_that_are_not_utf8_survive() -> None:
    body = bytearray(b"\x00\x00\x00\x01\x01\x02\x04\xff\xfe\x01")  # null key, null value, 1 header: ff fe -> null
    data = seal(read_header(build_batch([Record(timestamp=0)])), bytes([len(body) << 1]) + body)
    (record,) = decode(data)
    assert decode(build_batch([record])) == [record]
    assert b"\xff\xfe" in build_batch([record])


def test_zero_records_of_a_compacted_batch_are_no_records() -> None:
    header = read_header(build_batch([Record(), Record()]))
    assert decode(seal(header._replace(record_count=0), b"")) == []


GOOD = build_batch([Record(timestamp=5, key=b"key", value=b"value", headers=(Header("h", b"x"),)) for _ in range(3)])
BODY = GOOD[HEADER_SIZE:]


@pytest.mark.parametrize(
    "lie",
    [
        lambda header, body: (header._replace(record_count=2), body),
        lambda header, body: (header._replace(record_count=4), body),
        lambda header, body: (header._replace(record_count=-1), body),
        lambda header, body: (header._replace(record_count=2**31 - 1), body),
        lambda header, body: (header._replace(last_offset_delta=1), body),
        lambda header, body: (header, body[:-1]),
        lambda header, body: (header, body + b"\0"),
        lambda header, body: (header, b""),
        lambda header, body: (header, b"\x01" + body[1:]),  # a record of -1 bytes
        lambda header, body: (header, bytes([body[0] + 2]) + body[1:]),  # a record one byte longer than its fields
        lambda header, body: (header, body[:4] + b"\xfe\xff\xff\xff\x0f" + body[5:]),  # a key of 2^31-1 bytes
        lambda header, body: (header, body[:4] + b"\x03" + body[5:]),  # a key of -2 bytes
        lambda header, body: (header, body[:14] + b"\x7e" + body[15:]),  # 63 headers
        lambda header, body: (header, body[:14] + b"\x01" + body[15:]),  # -1 headers
        lambda header, body: (header, body[:15] + b"\x01" + body[16:]),  # a header without a key
        lambda header, body: (header, body[:3] + b"\x02" + body[4:]),  # offset deltas 1, 1, 2
        lambda header, body: (header._replace(base_timestamp=2**63 - 1), body.replace(b"\0\0\0\x06", b"\0\x02\0\x06")),
    ],
)
def test_lies_are_invalid_records(lie: Callable[..., tuple[object, bytes]]) -> None:
    header, body = lie(read_header(GOOD), BODY)
    with pytest.raises(InvalidRecord):
        decode(seal(header, body))


@given(seed=st.integers(0, 2**32), codec=st.sampled_from(Codec), flips=st.integers(1, 6))
def test_mutations_raise_nothing_but_kafka_errors(seed: int, codec: Codec, flips: int) -> None:
    rng = random.Random(seed)
    records = [
        Record(timestamp=n, key=b"k" * n, value=rng.randbytes(n), headers=(Header("h", None),)) for n in range(9)
    ]
    mutated = bytearray(build_batch(records, codec=codec))
    for _ in range(flips):
        mutated[rng.randrange(17, len(mutated))] = rng.randrange(256)
    batch = Batch(read_header(mutated), memoryview(mutated))  # with a wrong CRC: decoding must stand on its own
    with contextlib.suppress(KafkaError):
        decode_records(batch, max_bytes=1 << 16)


@pytest.mark.parametrize("control_type", list(ControlType))
def test_control_keys_round_trip(control_type: ControlType) -> None:
    assert decode_control_key(encode_control_key(control_type)) is control_type


def test_control_keys_from_the_future_and_broken_ones() -> None:
    assert encode_control_key(ControlType.COMMIT) == b"\0\0\0\1"
    assert decode_control_key(b"\0\0\0\x63") is None
    assert decode_control_key(b"\0\1\0\1 and more") is ControlType.COMMIT
    for broken in (None, b"", b"\0\0\0", b"\xff\xff\0\1"):
        with pytest.raises(InvalidRecord):
            decode_control_key(broken)


@given(
    st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=300)), min_size=1, max_size=100),
    st.integers(0, 2**41),
    st.booleans(),
)
def test_plain_batches_are_those_of_the_general_way(
    pairs: list[tuple[bytes, bytes | None]], timestamp_ms: int, transactional: bool
) -> None:
    records = [Record(timestamp=timestamp_ms, key=key, value=value) for key, value in pairs]
    whole = build_batch(records, producer_id=7, producer_epoch=3, transactional=transactional)
    plain = build_plain_batch(pairs, timestamp_ms, producer_id=7, producer_epoch=3, transactional=transactional)
    assert (plain.header, plain.data) == (read_header(whole), whole)
