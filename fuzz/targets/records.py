"""Batches: admission by a leader, decoding, and every codec with bounded output."""

import random
from typing import Final

from barnabas.records.admission import UNBOUNDED_MS, AdmissionRules, admit
from barnabas.records.batch import HEADER_SIZE, crc_is_valid, read_header, split_batches
from barnabas.records.compression import Codec, compress, decompress
from barnabas.records.record import Header, Record, build_batch, decode_records, seal
from barnabas.wire.errors import KafkaError
from fuzz.target import Target

_NOW_MS: Final = 1_700_000_000_000
_DECOMPRESSED_BYTES_MAX: Final = 1 << 20
_RULES: Final = AdmissionRules(
    max_message_bytes=1 << 20,
    log_append_time=False,
    timestamp_before_max_ms=UNBOUNDED_MS,
    timestamp_after_max_ms=3_600_000,
    compression=None,
    compression_level=None,
    requires_key=False,
    decompressed_bytes_max=_DECOMPRESSED_BYTES_MAX,
)
_TOPICS: Final = (
    _RULES,
    _RULES._replace(requires_key=True),
    _RULES._replace(log_append_time=True),
    _RULES._replace(timestamp_before_max_ms=3_600_000),
    _RULES._replace(compression=Codec.NONE),
    _RULES._replace(compression=Codec.LZ4, requires_key=True),
)


def _records(rng: random.Random) -> list[Record]:
    return [
        Record(
            timestamp=_NOW_MS + rng.choice((0, 1, 100, 100_000)),
            key=rng.choice((None, b"", b"key", rng.randbytes(90))),
            value=rng.choice((None, b"", b"value" * 5, rng.randbytes(rng.randrange(200)))),
            headers=rng.choice(((), (Header("h", None), Header("grüße", b"v" * 70)))),
        )
        for _ in range(rng.choice((1, 2, 5, 40)))
    ]


def _batches(rng: random.Random) -> list[bytes]:
    sound = [build_batch(_records(rng), codec=codec) for codec in Codec for _ in range(8)]
    sound += [build_batch(_records(rng), producer_id=4, producer_epoch=1, base_sequence=9) for _ in range(8)]
    sound += [
        build_batch(_records(rng), producer_id=4, producer_epoch=1, base_sequence=0, transactional=True)
        for _ in range(4)
    ]
    return [bytes((rng.randrange(256),)) + batch for batch in sound]


def _admit(data: bytes) -> None:
    """The first byte chooses the topic, and whether the batch gets a new length and CRC: few mutations hit a CRC."""
    if not data:
        return
    rules = _TOPICS[data[0] % len(_TOPICS)]
    batch = data[1:]
    if data[0] & 0x80 and len(batch) >= HEADER_SIZE:
        batch = seal(read_header(batch)._replace(magic=2, base_offset=0), batch[HEADER_SIZE:])
    try:
        admitted = admit(batch, rules, _NOW_MS)
    except KafkaError:
        return
    if not crc_is_valid(admitted):
        raise AssertionError("a batch was admitted with a wrong CRC")
    if admitted.header.record_count <= 4:  # then every field was checked: consumers must be able to read it
        decoded = decode_records(admitted, max_bytes=_DECOMPRESSED_BYTES_MAX)
        if len(decoded) != admitted.header.record_count:
            raise AssertionError("an admitted batch does not have the number of records in its header")


def _decode(data: bytes) -> None:
    try:
        for batch in split_batches(data[1:]):
            decode_records(batch, max_bytes=_DECOMPRESSED_BYTES_MAX)
    except KafkaError:
        return


def _compressed(rng: random.Random) -> list[bytes]:
    contents = (b"", b"a", bytes(100_000), rng.randbytes(3000), b"some text, " * 300)
    return [bytes((codec,)) + compress(codec, content) for codec in Codec for content in contents]


def _decompress(data: bytes) -> None:
    if not data:
        return
    try:
        content = decompress(data[0] % 8, memoryview(data)[1:], max_bytes=_DECOMPRESSED_BYTES_MAX)
    except KafkaError:
        return
    if len(content) > _DECOMPRESSED_BYTES_MAX:
        raise AssertionError(f"{len(content)} bytes came out, {_DECOMPRESSED_BYTES_MAX} were allowed")


TARGETS: Final = (
    Target("admission", _batches, _admit),
    Target("records", _batches, _decode),
    Target("compression", _compressed, _decompress),
)
