import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.admission import UNBOUNDED_MS, AdmissionRules, admit, unchanged_header
from barnabas.records.batch import HEADER_SIZE, BatchHeader, crc_is_valid, read_batch, read_header
from barnabas.records.compression import Codec, compress
from barnabas.records.record import Header, Record, build_batch, decode_records, seal
from barnabas.wire.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    KafkaError,
    MessageTooLarge,
    UnsupportedCompressionType,
)

NOW = 1_700_000_000_000
HOUR = 3_600_000
RULES = AdmissionRules(
    max_message_bytes=1 << 20,
    log_append_time=False,
    timestamp_before_max_ms=UNBOUNDED_MS,
    timestamp_after_max_ms=HOUR,
    compression=None,
    compression_level=None,
    requires_key=False,
    decompressed_bytes_max=1 << 22,
)
RECORDS = [
    Record(offset=n, timestamp=NOW - n, key=b"key", value=b"value" * 20, headers=(Header("h", None),))
    for n in range(10)
]


def altered(data: bytes, **fields: int) -> bytes:
    """The batch with other header fields and a valid CRC."""
    return seal(read_header(data)._replace(**fields), data[HEADER_SIZE:])


def altered_bytes(data: bytes, position: int, replacement: bytes) -> bytes:
    return data[:position] + replacement + data[position + len(replacement) :]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_passes_uncopied(codec: Codec) -> None:
    data = build_batch(RECORDS, codec=codec, producer_id=1, producer_epoch=0, base_sequence=0)
    for rules in (RULES, RULES._replace(compression=codec), RULES._replace(requires_key=True)):
        batch = admit(data, rules, NOW)
        assert batch.data.obj is data
        assert batch == read_batch(data)


def test_a_view_is_taken_as_it_is() -> None:
    data = b"frame" + build_batch(RECORDS)
    batch = admit(memoryview(data)[5:], RULES, NOW)
    assert batch.data.obj is data


@pytest.mark.parametrize("nothing", [None, b"", memoryview(b"")])
def test_no_records(nothing: bytes | memoryview | None) -> None:
    with pytest.raises(InvalidRecord):
        admit(nothing, RULES, NOW)


GOOD = build_batch(RECORDS)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (GOOD[:20], CorruptMessage),
        (GOOD[:-1], CorruptMessage),
        (GOOD + b"x", CorruptMessage),
        (GOOD + GOOD, InvalidRecord),
        (altered_bytes(GOOD, 8, b"\x7f\xff\xff\xff"), CorruptMessage),  # a length of 2^31-1
        (altered_bytes(GOOD, 8, b"\xff\xff\xff\xff"), CorruptMessage),
        (altered_bytes(GOOD, 8, b"\x00\x00\x00\x00"), CorruptMessage),
        (altered_bytes(GOOD, 16, b"\x00"), InvalidRecord),  # older formats
        (altered_bytes(GOOD, 16, b"\x01"), InvalidRecord),
        (altered_bytes(GOOD, 16, b"\x03"), CorruptMessage),
        (altered_bytes(GOOD, 16, b"\xff"), CorruptMessage),
        (altered_bytes(GOOD, 17, b"\x00\x00\x00\x00"), CorruptMessage),  # CRC
        (altered_bytes(GOOD, 100, b"\x00\x00\x00\x00"), CorruptMessage),
        (altered(GOOD, base_offset=1), InvalidRecord),
        (altered(GOOD, attributes=5), UnsupportedCompressionType),
        (altered(GOOD, attributes=7), UnsupportedCompressionType),
        (altered(GOOD, attributes=1), CorruptMessage),  # not gzip at all
        (altered(GOOD, attributes=2), CorruptMessage),
        (altered(GOOD, attributes=3), CorruptMessage),
        (altered(GOOD, attributes=4), CorruptMessage),
        (altered(GOOD, attributes=0x20), InvalidRecord),  # control
        (altered(GOOD, attributes=0x40), InvalidRecord),  # delete horizon
        (altered(GOOD, attributes=0x10), InvalidRecord),  # transactional without a producer id
        (altered(GOOD, attributes=0x08), InvalidTimestamp),  # LogAppendTime
        (altered(GOOD, record_count=9), InvalidRecord),
        (altered(GOOD, record_count=0, last_offset_delta=-1), InvalidRecord),
        (altered(GOOD, record_count=-5, last_offset_delta=-6), InvalidRecord),
        (altered(GOOD, record_count=2**31 - 1, last_offset_delta=2**31 - 2), InvalidRecord),
        (altered(GOOD, last_offset_delta=2**31 - 1), InvalidRecord),
        (altered(GOOD, producer_id=4, producer_epoch=0), InvalidRecord),  # no sequence
        (altered(GOOD, producer_id=4, base_sequence=0), InvalidRecord),  # no epoch
        (altered(GOOD, max_timestamp=NOW + HOUR + 1), InvalidTimestamp),
        (altered(GOOD, base_timestamp=NOW + HOUR + 1), InvalidTimestamp),
    ],
)
def test_refusals(data: bytes, error: type[KafkaError]) -> None:
    with pytest.raises(error):
        admit(data, RULES, NOW)


def test_size_is_checked_before_anything_is_computed() -> None:
    assert admit(GOOD, RULES._replace(max_message_bytes=len(GOOD)), NOW)
    with pytest.raises(MessageTooLarge):
        admit(altered_bytes(GOOD, 17, b"\x00\x00\x00\x00"), RULES._replace(max_message_bytes=len(GOOD) - 1), NOW)


def test_zstd_is_for_clients_that_know_it() -> None:
    data = build_batch(RECORDS, codec=Codec.ZSTD)
    assert admit(data, RULES, NOW)
    with pytest.raises(UnsupportedCompressionType):
        admit(data, RULES, NOW, zstd_allowed=False)


def test_timestamps_are_bounded_on_both_sides() -> None:
    rules = RULES._replace(timestamp_before_max_ms=100, timestamp_after_max_ms=200)
    for timestamps in ([NOW - 100], [NOW + 200], [-1], [NOW - 100, NOW + 200], [-1, NOW]):
        assert admit(build_batch([Record(timestamp=t) for t in timestamps]), rules, NOW)
    for timestamps in ([NOW - 101], [NOW + 201], [NOW, NOW - 101, NOW], [NOW, NOW + 201], [0]):
        data = build_batch([Record(timestamp=t) for t in timestamps])
        with pytest.raises(InvalidTimestamp):
            admit(data, rules, NOW)
        assert admit(data, rules._replace(log_append_time=True), NOW)  # where the producer's time does not count


def test_compacted_topics_need_keys() -> None:
    rules = RULES._replace(requires_key=True)
    for codec in Codec:
        data = build_batch([*RECORDS, Record(timestamp=NOW, value=b"no key")], codec=codec)
        with pytest.raises(InvalidRecord):
            admit(data, rules, NOW)
        assert admit(build_batch([Record(timestamp=NOW, key=b"")], codec=codec), rules, NOW)


@pytest.mark.parametrize("codec", list(Codec))
def test_log_append_time_is_stamped_on_the_header_alone(codec: Codec) -> None:
    data = build_batch(RECORDS, codec=codec, producer_id=1, producer_epoch=2, base_sequence=3, transactional=True)
    batch = admit(data, RULES._replace(log_append_time=True), NOW + 5)
    assert crc_is_valid(batch)
    assert batch.data[HEADER_SIZE:] == data[HEADER_SIZE:]
    before = read_header(data)
    assert batch.header == before._replace(
        attributes=before.attributes | 8, max_timestamp=NOW + 5, crc=batch.header.crc
    )
    assert {record.timestamp for record in decode_records(batch, max_bytes=1 << 20)} == {NOW + 5}


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
def test_recompression_keeps_every_record_and_the_header(source: Codec, target: Codec) -> None:
    data = build_batch(RECORDS, codec=source, producer_id=1, producer_epoch=2, base_sequence=3, transactional=True)
    batch = admit(data, RULES._replace(compression=target, requires_key=True), NOW)
    assert batch.header.codec == target
    assert crc_is_valid(batch)
    assert read_batch(batch.data) == batch
    assert decode_records(batch, max_bytes=1 << 20) == RECORDS

    def without_codec(header: BatchHeader) -> BatchHeader:
        return header._replace(attributes=header.attributes & ~7, crc=0, batch_length=0)

    assert without_codec(batch.header) == without_codec(read_header(data))


def test_recompression_uses_the_level_and_stamps_the_time_at_once() -> None:
    records = [Record(timestamp=NOW, value=b"%d" % (n * 7919)) for n in range(3000)]
    data = build_batch(records)
    sizes = []
    for level in (1, 19):
        rules = RULES._replace(compression=Codec.ZSTD, compression_level=level, log_append_time=True)
        batch = admit(data, rules, NOW)
        assert batch.header.is_log_append_time
        assert crc_is_valid(batch)
        sizes.append(batch.header.size)
    assert sizes[1] < sizes[0] < len(data)


def test_a_batch_that_grows_too_large_is_refused() -> None:
    data = build_batch([Record(timestamp=NOW, value=bytes(100_000))], codec=Codec.GZIP)
    rules = RULES._replace(compression=Codec.NONE)
    assert admit(data, rules, NOW).header.size > 100_000
    with pytest.raises(MessageTooLarge):
        admit(data, rules._replace(max_message_bytes=50_000), NOW)
    with pytest.raises(MessageTooLarge):
        admit(data, rules._replace(decompressed_bytes_max=50_000), NOW)


def test_a_broken_body_is_found_where_the_topic_makes_us_look() -> None:
    good = build_batch(RECORDS, codec=Codec.ZSTD)
    broken = seal(read_header(good), good[HEADER_SIZE : HEADER_SIZE + 10] + b"broken")
    for rules in (RULES._replace(requires_key=True), RULES._replace(compression=Codec.LZ4)):
        with pytest.raises(CorruptMessage):
            admit(broken, rules, NOW)


@given(
    seed=st.integers(0, 2**32),
    codec=st.sampled_from(Codec),
    target=st.none() | st.sampled_from(Codec),
    requires_key=st.booleans(),
    log_append_time=st.booleans(),
    sealed=st.booleans(),
)
def test_mutations_raise_nothing_but_kafka_errors(
    seed: int, codec: Codec, target: Codec | None, requires_key: bool, log_append_time: bool, sealed: bool
) -> None:
    rng = random.Random(seed)
    mutated = bytearray(build_batch(RECORDS[:3], codec=codec))
    for _ in range(rng.randrange(1, 5)):
        mutated[rng.randrange(len(mutated))] = rng.randrange(256)
    data = seal(read_header(mutated)._replace(magic=2, base_offset=0), mutated[HEADER_SIZE:]) if sealed else mutated
    rules = RULES._replace(compression=target, requires_key=requires_key, log_append_time=log_append_time)
    try:
        batch = admit(data, rules, NOW)
    except KafkaError:
        return
    assert crc_is_valid(batch)
    assert batch.header == read_header(batch.data)


@given(data=st.binary(max_size=200))
def test_garbage_raises_nothing_but_kafka_errors(data: bytes) -> None:
    with pytest.raises(KafkaError):
        admit(data, RULES, NOW)


headers = st.builds(
    BatchHeader,
    base_offset=st.sampled_from([0, 0, 0, 1, -1]),
    batch_length=st.just(0),
    leader_epoch=st.sampled_from([-1, 0, 5]),
    magic=st.sampled_from([2, 2, 2, 1, 3]),
    crc=st.just(0),
    attributes=st.sampled_from([0, 0, 0, 1, 3, 4, 5, 8, 16, 19, 32, 64, 0x4000]),
    last_offset_delta=st.integers(-2, 5),
    base_timestamp=st.sampled_from([-1, 0, NOW, NOW + 10**9]),
    max_timestamp=st.sampled_from([-1, 0, NOW, NOW + 10**9]),
    producer_id=st.sampled_from([-1, -1, 7]),
    producer_epoch=st.sampled_from([-1, 0]),
    base_sequence=st.sampled_from([-1, 0]),
    record_count=st.integers(-1, 6),
)
bodies = st.binary(max_size=60) | st.integers(0, 6).map(
    lambda count: build_batch([Record(value=b"v")] * count)[HEADER_SIZE:] if count else b""
)


@given(header=headers, body=bodies, good_crc=st.booleans(), max_message_bytes=st.sampled_from([60, 100, 10_000]))
def test_batches_are_appended_unchanged_only_if_they_are_admitted_unchanged(
    header: BatchHeader, body: bytes, good_crc: bool, max_message_bytes: int
) -> None:
    if header.codec in list(Codec):
        body = compress(header.codec, body)
    data = bytearray(seal(header, body))
    if not good_crc:
        data[20] ^= 1
    rules = RULES._replace(max_message_bytes=max_message_bytes, timestamp_after_max_ms=3_600_000)
    try:
        quick = unchanged_header(data, 0, memoryview(data), rules, NOW)
    except KafkaError as error:
        with pytest.raises(type(error)):
            admit(bytes(data), rules, NOW)
        return
    if quick is not None:
        careful = admit(bytes(data), rules, NOW)
        assert (quick, data) == (careful.header, careful.data)


@pytest.mark.parametrize("codec", Codec)
def test_ordinary_batches_are_appended_unchanged_in_every_codec(codec: Codec) -> None:
    data = build_batch([Record(timestamp=NOW, key=b"k", value=b"v" * 50)] * 20, codec=codec)
    assert unchanged_header(data, 0, memoryview(data), RULES, NOW) == read_header(data)
    rules = RULES._replace(compression=Codec.NONE)
    assert (unchanged_header(data, 0, memoryview(data), rules, NOW) is None) == (codec is not Codec.NONE)
