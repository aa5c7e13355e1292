"""Fetched bytes to Arrow: either refused, or the same values as from the plain decoder."""

import random
from typing import Final

from barnabas.records.batch import HEADER_SIZE, read_header, split_batches
from barnabas.records.compression import Codec
from barnabas.records.record import Header, Record, build_batch, decode_records, seal
from barnabas.spark.arrow.decode import UnreadableRecords, decode
from barnabas.spark.arrow.schema import COLUMN_TYPES
from fuzz.target import Target

_DECOMPRESSED_BYTES_MAX: Final = 1 << 24
_NOW_MS: Final = 1_700_000_000_000
_RESEALED: Final = 0x80
"""In the first byte: the first batch gets a new length and CRC, as few mutations hit a CRC. The rest: columns."""


def _record(rng: random.Random) -> Record:
    return Record(
        timestamp=_NOW_MS + rng.choice((0, 1, 100, -5, 100_000)),
        key=rng.choice((None, b"", b"key", rng.randbytes(70))),
        value=rng.choice((None, b"", b"value" * 5, rng.randbytes(rng.randrange(200)))),
        headers=rng.choice(((), (), (Header("h", None), Header("grüße", b"v" * 70)))),
    )


def _fetches(rng: random.Random) -> list[bytes]:
    seeds = []
    for _ in range(40):
        pieces = []
        offset = 0
        for _ in range(rng.choice((1, 1, 2, 5))):
            count = rng.choice((1, 2, 5, 30))
            records = [_record(rng)] * count if rng.random() < 0.5 else [_record(rng) for _ in range(count)]
            pieces.append(build_batch(records, base_offset=offset, codec=rng.choice(list(Codec))))
            offset += count
        seeds.append(bytes((rng.randrange(256),)) + b"".join(pieces))
    return seeds


def _decode(data: bytes) -> None:
    if not data:
        return
    fetched = data[1:]
    if data[0] & _RESEALED and len(fetched) >= HEADER_SIZE:
        header = read_header(fetched)._replace(magic=2, base_offset=0)
        fetched = seal(header, fetched[HEADER_SIZE:])
    columns = [name for index, name in enumerate(COLUMN_TYPES) if data[0] >> index % 7 & 1] or ["offset"]
    try:
        got = decode(
            fetched, topic="t", partition=0, columns=columns, first_offset=0, end_offset=1 << 62, check_crc=False
        ).batch
    except UnreadableRecords:
        return
    if got is None:
        return
    got.validate(full=True)
    if len(columns) == len(COLUMN_TYPES):
        expected = [
            record
            for batch in split_batches(fetched)
            if not batch.header.is_control
            for record in decode_records(batch, max_bytes=_DECOMPRESSED_BYTES_MAX)
        ]
        if got["value"].to_pylist() != [record.value for record in expected]:
            raise AssertionError("the values are not those of the plain decoder")


TARGETS: Final = (Target("arrow", _fetches, _decode),)
