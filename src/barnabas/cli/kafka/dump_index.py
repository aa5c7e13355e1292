"""`kafka-dump-log` for the files next to a segment: offset, time and transaction indexes, producer snapshots.

Index files may be longer than their entries: Kafka preallocates them, so zeros after the first entry are the end.
"""

import os
import struct
import sys
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from barnabas.cli.errors import CommandFailed
from barnabas.log.producer_snapshot import CorruptSnapshot, decode_snapshot
from barnabas.records.batch import HEADER_SIZE, BatchHeader, read_header
from barnabas.records.record import decode_records

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_TXN_ENTRY = struct.Struct(">hqqqq")


class IndexProblems(NamedTuple):
    """What does not agree, by file: pairs of what the index says and what the log says."""

    offset_mismatches: dict[str, list[tuple[int, int]]]
    time_mismatches: dict[str, list[tuple[int, int]]]
    out_of_order: dict[str, list[tuple[int, int]]]
    not_found: dict[str, list[tuple[int, int]]]

    @classmethod
    def none(cls) -> "IndexProblems":
        return cls({}, {}, {}, {})

    def print(self) -> None:
        for path, pairs in self.offset_mismatches.items():
            _complain(f"Mismatches in :{path}", [f"  Index offset: {a}, log offset: {b}" for a, b in pairs])
        for path, pairs in self.time_mismatches.items():
            lines = [f"  Index timestamp: {a}, log timestamp: {b}" for a, b in pairs]
            _complain(f"Found timestamp mismatch in :{path}", lines)
        for path, pairs in self.out_of_order.items():
            lines = [f"  Index timestamp: {a}, Previously indexed timestamp: {b}" for a, b in pairs]
            _complain(f"Found out of order timestamp in :{path}", lines)
        for pairs in self.not_found.values():
            lines = [f"Indexed offset: {a}, found log offset: {b}" for a, b in pairs]
            _complain("The following indexed offsets are not found in the log.", lines)


def dump_offset_index(path: str, problems: IndexProblems, *, sanity_only: bool, verify_only: bool) -> None:
    entries = list(_offset_entries(path))
    if not entries:
        print(f"{path} is empty.")
        return
    if sanity_only:
        _check_sanity(path, _OFFSET_ENTRY.size, entries[-1][0])
        return
    with _open_log(path) as log:
        for offset, position in entries:
            header = _header_at(log.fileno(), position)
            found = -1 if header is None else header.last_offset
            if found != offset:
                problems.offset_mismatches.setdefault(os.path.abspath(path), []).append((offset, found))
            if not verify_only:
                print(f"offset: {offset} position: {position}")


def dump_time_index(path: str, problems: IndexProblems, *, sanity_only: bool, verify_only: bool) -> None:
    entries = list(_time_entries(path))
    if sanity_only:
        _check_sanity(path, _TIME_ENTRY.size, entries[-1][1] if entries else None)
        return
    full_path = os.path.abspath(path)
    positions = list(_offset_entries(path.removesuffix(".timeindex") + ".index"))
    previous = -1
    with _open_log(path) as log:
        for timestamp, offset in entries:
            start = max((position for known, position in positions if known <= offset), default=0)
            header, at = _batch_with(log.fileno(), start, offset)
            if header is None or header.last_offset != offset:
                problems.not_found.setdefault(full_path, []).append(
                    (offset, -1 if header is None else header.last_offset)
                )
            else:
                largest = _largest_timestamp(log.fileno(), at, header)
                if largest != timestamp:
                    problems.time_mismatches.setdefault(full_path, []).append((timestamp, largest))
                if previous >= timestamp:
                    problems.out_of_order.setdefault(full_path, []).append((timestamp, previous))
            if not verify_only:
                print(f"timestamp: {timestamp} offset: {offset}")
            previous = timestamp


def dump_txn_index(path: str) -> None:
    for version, producer, first, last, stable in _TXN_ENTRY.iter_unpack(_whole(path, _TXN_ENTRY.size)):
        print(
            f"version: {version} producerId: {producer} firstOffset: {first} lastOffset: {last} "
            f"lastStableOffset: {stable}"
        )


def dump_producer_snapshot(path: str) -> None:
    try:
        producers = decode_snapshot(_read(path))
    except CorruptSnapshot as error:
        print(f"Snapshot {path} is corrupt: {error}", file=sys.stderr)
        return
    for producer_id, entry in producers.items():
        txn = "OptionalLong.empty" if entry.txn_first_offset < 0 else f"OptionalLong[{entry.txn_first_offset}]"
        line = (
            f"producerId: {producer_id} producerEpoch: {entry.epoch} coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {txn} lastTimestamp: {entry.last_timestamp} "
        )
        if entry.batches:
            last = entry.batches[-1]
            first_sequence = last.last_sequence - last.offset_delta
            line += (
                f"firstSequence: {first_sequence} lastSequence: {last.last_sequence} lastOffset: {last.last_offset} "
                f"offsetDelta: {last.offset_delta} timestamp: {last.timestamp}"
            )
        print(line)


def _offset_entries(path: str) -> Iterator[tuple[int, int]]:
    base = _base_offset(path)
    for number, (relative, position) in enumerate(_OFFSET_ENTRY.iter_unpack(_whole(path, _OFFSET_ENTRY.size))):
        if relative == 0 and number > 0:
            return
        yield base + relative, position


def _time_entries(path: str) -> Iterator[tuple[int, int]]:
    base = _base_offset(path)
    for number, (timestamp, relative) in enumerate(_TIME_ENTRY.iter_unpack(_whole(path, _TIME_ENTRY.size))):
        if relative == 0 and number > 0:
            return
        yield timestamp, base + relative


def _check_sanity(path: str, entry_bytes: int, last_offset: int | None) -> None:
    if os.path.getsize(path) % entry_bytes or (last_offset is not None and last_offset < _base_offset(path)):
        raise CommandFailed(
            f"the index {path} is corrupt", hint="stop the broker and delete it: it is rebuilt from the segment"
        )
    print(f"{path} passed sanity check.")


def _batch_with(log: int, position: int, offset: int) -> tuple[BatchHeader | None, int]:
    """The first batch from `position` on that ends at or after the offset, and where it is."""
    while True:
        header = _header_at(log, position)
        if header is None or header.last_offset >= offset:
            return header, position
        position += header.size


def _header_at(log: int, position: int) -> BatchHeader | None:
    head = os.pread(log, HEADER_SIZE, position)
    if len(head) < HEADER_SIZE:
        return None
    header = read_header(head)
    return header if header.batch_length >= HEADER_SIZE - 12 else None


def _largest_timestamp(log: int, position: int, header: BatchHeader) -> int:
    from barnabas.cli.segment_reader import DECOMPRESSED_BYTES_MAX
    from barnabas.records.batch import Batch

    data = os.pread(log, header.size, position)
    records = decode_records(Batch(header, memoryview(data)), max_bytes=DECOMPRESSED_BYTES_MAX)
    return max((record.timestamp for record in records), default=-1)


def _open_log(path: str) -> BinaryIO:
    """The segment that the index belongs to."""
    log = f"{path.rpartition('.')[0]}.log"
    try:
        return open(log, "rb")
    except OSError as error:
        raise CommandFailed(f"cannot read {log}, which {path} belongs to: {error.strerror}") from error


def _base_offset(path: str) -> int:
    text = os.path.basename(path).partition(".")[0]
    if not text.isdecimal():
        raise CommandFailed(
            f"{path} has no offset in its name", hint="give files of a partition as the broker named them"
        )
    return int(text)


def _whole(path: str, entry_bytes: int) -> bytes:
    content = _read(path)
    return content[: len(content) - len(content) % entry_bytes]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CommandFailed(f"cannot read {path}: {error.strerror}", hint="give the path of a file") from error


def _complain(title: str, lines: list[str]) -> None:
    print("\n".join([title, *lines]), file=sys.stderr)
