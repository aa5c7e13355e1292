"""Snapshots of the producer state of a partition at an offset: Kafka's `<offset>.snapshot` files (version 1).

    version i16 | crc u32 (CRC32C of the rest) | count i32 | per producer: id i64, epoch i16, last sequence i32,
    last offset i64, offset delta i32, timestamp i64, coordinator epoch i32, first offset of its open transaction i64

Only the last batch of each producer is stored: after a restart, only a retry of that one is detected. There are
snapshots at the base offset of each segment, so that recovery can begin at any segment, and at the end of a log that
was closed cleanly.
"""

import struct
from collections.abc import Mapping
from typing import Final

from fastcrc.crc32 import iscsi

from barnabas.env import Disk
from barnabas.log.file_names import PRODUCER_SNAPSHOT, file_name, parse_file_name
from barnabas.log.producer_state import BatchMetadata, ProducerEntry

VERSION: Final = 1
_PREFIX: Final = struct.Struct(">hI")
_COUNT: Final = struct.Struct(">i")
_ENTRY: Final = struct.Struct(">qhiqiqiq")


class CorruptSnapshot(Exception):
    """Not a snapshot, or damaged: use an older one and the batches after it."""


def encode_snapshot(producers: Mapping[int, ProducerEntry]) -> bytes:
    body = bytearray(_COUNT.pack(len(producers)))
    for producer_id, entry in producers.items():
        last = entry.batches[-1] if entry.batches else BatchMetadata(-1, -1, 0, -1)
        body += _ENTRY.pack(
            producer_id,
            entry.epoch,
            last.last_sequence,
            last.last_offset,
            last.offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.txn_first_offset,
        )
    return _PREFIX.pack(VERSION, iscsi(bytes(body))) + bytes(body)


def decode_snapshot(content: bytes) -> dict[int, ProducerEntry]:
    body = content[_PREFIX.size :]
    try:
        version, crc = _PREFIX.unpack_from(content)
        (count,) = _COUNT.unpack_from(body)
    except struct.error as error:
        raise CorruptSnapshot(f"it has only {len(content)} bytes") from error
    if version != VERSION:
        raise CorruptSnapshot(f"its version is {version}, not {VERSION}")
    if crc != iscsi(body) or len(body) != _COUNT.size + count * _ENTRY.size:
        raise CorruptSnapshot("its CRC or its length is wrong")
    producers = {}
    for fields in _ENTRY.iter_unpack(body[_COUNT.size :]):
        producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, txn_first = fields
        batches = [BatchMetadata(last_sequence, last_offset, offset_delta, timestamp)] if last_offset >= 0 else []
        producers[producer_id] = ProducerEntry(epoch, batches, timestamp, coordinator_epoch, txn_first)
    return producers


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{file_name(offset, PRODUCER_SNAPSHOT)}"


def write_snapshot(disk: Disk, directory: str, offset: int, producers: Mapping[int, ProducerEntry]) -> None:
    """Flushing the segment before it syncs it. A torn one is detected by its CRC."""
    content = encode_snapshot(producers)
    file = disk.open(snapshot_path(directory, offset), create=True)
    try:
        file.write_at(0, [content])
        file.truncate(len(content))
    finally:
        file.close()


def list_snapshots(disk: Disk, directory: str) -> list[int]:
    """Offsets of the snapshots, ascending."""
    names = filter(None, map(parse_file_name, disk.list_dir(directory)))
    return sorted(name.offset for name in names if name.kind == PRODUCER_SNAPSHOT and not name.suffix)
