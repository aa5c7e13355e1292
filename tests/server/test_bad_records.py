"""Invalid batches: a clear error for each, and nothing appended."""

import threading
import time

import pytest
from attacked import Attacked, produce_request

from barnabas.records.batch import HEADER_SIZE, BatchHeader, read_header
from barnabas.records.compression import Codec, compress
from barnabas.records.record import Record, build_batch, seal
from barnabas.wire.errors import ErrorCode

NOW = int(time.time() * 1000)
COMPRESSED = [codec for codec in Codec if codec]
GOOD = build_batch([Record(timestamp=NOW, key=b"k", value=b"value %d" % number) for number in range(10)])


def altered(data: bytes, **fields: int) -> bytes:
    """With other fields in the header, and a valid CRC."""
    return seal(read_header(data)._replace(**fields), data[HEADER_SIZE:])


def patched(data: bytes, position: int, replacement: bytes) -> bytes:
    return data[:position] + replacement + data[position + len(replacement) :]


def with_body(codec: Codec, body: bytes, **fields: int) -> bytes:
    header: BatchHeader = read_header(build_batch([Record(timestamp=NOW, key=b"k", value=b"v")], codec=codec))
    return seal(header._replace(**fields), body)


BAD = {
    "null records": (None, "invalid_record"),
    "no bytes": (b"", "invalid_record"),
    "half a header": (GOOD[:30], "corrupt_message"),
    "a batch cut short": (GOOD[:-3], "corrupt_message"),
    "two batches": (GOOD + GOOD, "invalid_record"),
    "bytes behind the batch": (GOOD + b"xx", "corrupt_message"),
    "a length of 2^31-1": (patched(GOOD, 8, b"\x7f\xff\xff\xff"), "corrupt_message"),
    "a negative length": (patched(GOOD, 8, b"\xff\xff\xff\xff"), "corrupt_message"),
    "magic 0": (patched(GOOD, 16, b"\x00"), "invalid_record"),
    "magic 1": (patched(GOOD, 16, b"\x01"), "invalid_record"),
    "magic 9": (patched(GOOD, 16, b"\x09"), "corrupt_message"),
    "a wrong CRC": (patched(GOOD, 17, b"\x00\x00\x00\x00"), "corrupt_message"),
    "a changed byte": (patched(GOOD, 80, b"\xee"), "corrupt_message"),
    "codec 5": (altered(GOOD, attributes=5), "unsupported_compression_type"),
    "codec 6": (altered(GOOD, attributes=6), "unsupported_compression_type"),
    "codec 7": (altered(GOOD, attributes=7), "unsupported_compression_type"),
    "a control batch": (altered(GOOD, attributes=0x20), "invalid_record"),
    "LogAppendTime by a client": (altered(GOOD, attributes=0x08), "invalid_timestamp"),
    "a transaction without a producer id": (altered(GOOD, attributes=0x10), "invalid_record"),
    "a batch outside of its transaction": (
        altered(GOOD, attributes=0x10, producer_id=7, producer_epoch=0, base_sequence=0),
        "transactional_id_authorization_failed",
    ),
    "a producer id without an epoch": (altered(GOOD, producer_id=7, base_sequence=0), "invalid_record"),
    "fewer records than claimed": (altered(GOOD, record_count=11, last_offset_delta=10), "invalid_record"),
    "more records than claimed": (altered(GOOD, record_count=9, last_offset_delta=8), "invalid_record"),
    "2^31-1 records": (altered(GOOD, record_count=2**31 - 1, last_offset_delta=2**31 - 2), "invalid_record"),
    "-1 records": (altered(GOOD, record_count=-1, last_offset_delta=-2), "invalid_record"),
    "offsets that do not fit the count": (altered(GOOD, last_offset_delta=99), "invalid_record"),
    "a record longer than the batch": (patched(GOOD, HEADER_SIZE, b"\x7e"), "corrupt_message"),
    "a timestamp of the year 292 million": (altered(GOOD, max_timestamp=2**63 - 1), "invalid_timestamp"),
}
for codec in COMPRESSED:
    name = codec.name.lower()
    body = compress(codec, GOOD[HEADER_SIZE:])
    BAD |= {
        f"{name}: not what the codec says": (altered(GOOD, attributes=codec), "corrupt_message"),
        f"{name}: only its first half": (with_body(codec, body[: len(body) // 2]), "corrupt_message"),
        f"{name}: nothing at all": (with_body(codec, b""), "corrupt_message"),
        f"{name}: a count that lies": (with_body(codec, body), "invalid_record"),
        f"{name}: a record's length that lies": (
            with_body(codec, compress(codec, b"\x7e" + bytes(10))),
            "invalid_record",
        ),
        f"{name}: a key's length that lies": (
            with_body(codec, compress(codec, b"\x10\x00\x00\x00\x7ek\x02v\x00")),
            "invalid_record",
        ),
    }


@pytest.mark.parametrize("case", BAD)
def test_a_bad_batch_gets_a_clear_error(attacked: Attacked, case: str) -> None:
    topic = "bad-batches"
    attacked.create_topic(topic, {"message.timestamp.after.max.ms": "3600000"})
    records, error = BAD[case]
    before = attacked.end_offset(topic)
    answer = attacked.produce(topic, records)
    assert answer.error_code.name == error
    assert answer.base_offset == -1
    assert attacked.end_offset(topic) == before
    assert attacked.produce(topic, GOOD).error_code == ErrorCode.none


@pytest.mark.parametrize("codec", Codec)
def test_a_compacted_topic_takes_no_null_keys(attacked: Attacked, codec: Codec) -> None:
    attacked.create_topic("compacted", {"cleanup.policy": "compact"})
    keyed = Record(timestamp=NOW, key=b"k", value=b"v")
    keyless = Record(timestamp=NOW, value=b"v")
    assert attacked.produce("compacted", build_batch([keyed], codec=codec)).error_code == ErrorCode.none
    for records in ([keyless], [keyed] * 20 + [keyless] + [keyed]):
        answer = attacked.produce("compacted", build_batch(records, codec=codec))
        assert answer.error_code == ErrorCode.invalid_record
        assert "key" in answer.error_message


BOMBS = {
    Codec.GZIP: compress(Codec.GZIP, bytes(500_000_000)),
    Codec.SNAPPY: compress(Codec.SNAPPY, bytes(20_000_000)),
    Codec.LZ4: compress(Codec.LZ4, bytes(200_000_000)),
    Codec.ZSTD: compress(Codec.ZSTD, bytes(64_000_000)) * 60,  # frame by frame, 3.8 GB
}


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("topic", ["bombed", "bombed-compacted"])
def test_a_bomb_costs_neither_memory_nor_others_time(attacked: Attacked, codec: Codec, topic: str) -> None:
    attacked.create_topic(topic, {"cleanup.policy": "compact"} if topic == "bombed-compacted" else None)
    bomb = with_body(codec, BOMBS[codec])
    assert len(bomb) < 1_000_000
    waits: list[float] = []
    with attacked.broker.connect() as client:
        client.send("produce", 12, produce_request(topic, bomb))
        canary = threading.Thread(target=lambda: waits.append(attacked.answer_seconds()))
        canary.start()
        answer = client.receive().responses[0].partition_responses[0]
        canary.join()
    assert answer.error_code == ErrorCode.message_too_large
    assert waits[0] < 1.0
    assert attacked.end_offset(topic) == 0


@pytest.mark.parametrize("topic", ["crowded", "crowded-compacted"])
def test_a_bomb_of_tiny_records_is_no_better(attacked: Attacked, topic: str) -> None:
    """Sixteen megabytes of the smallest records there are would take a minute, and gigabytes, to decode."""
    attacked.create_topic(topic, {"cleanup.policy": "compact"} if topic == "crowded-compacted" else None)
    count = 2_000_000
    body = compress(Codec.ZSTD, b"\x0c\x00\x00\x00\x00\x01\x00" * count)
    bomb = with_body(Codec.ZSTD, body, record_count=count, last_offset_delta=count - 1)
    started = time.monotonic()
    assert attacked.produce(topic, bomb).error_code == ErrorCode.message_too_large
    assert time.monotonic() - started < 1.0


def test_a_snappy_block_that_claims_gigabytes(attacked: Attacked) -> None:
    attacked.create_topic("claims")
    answer = attacked.produce("claims", with_body(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\x00a"))
    assert answer.error_code in (ErrorCode.corrupt_message, ErrorCode.message_too_large)
