"""`barnabas log verify`: every batch of every segment, the order of segments, the indexes, the producer snapshots."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.cli.log_files import SegmentPath
from barnabas.cli.progress import Advance
from barnabas.cli.segment_reader import DECOMPRESSED_BYTES_MAX
from barnabas.cli.transaction_verification import TransactionWalk
from barnabas.env.disk import File, RealDisk
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage, scan_batches
from barnabas.log.file_names import OFFSET_INDEX, TIME_INDEX
from barnabas.log.index_file import CorruptIndex
from barnabas.log.offset_index import OffsetIndex
from barnabas.log.producer_snapshot import CorruptSnapshot, decode_snapshot, list_snapshots, snapshot_path
from barnabas.log.time_index import TimeIndex
from barnabas.records.batch import Batch
from barnabas.records.record import decode_records
from barnabas.wire.errors import KafkaError


class FoundDamage(NamedTuple):
    file: str
    position: int
    bytes: int
    reason: str
    offset: int | None = None
    """In a segment: the first offset that cannot be read."""
    next_offset: int | None = None
    """The first one after it that can, in the same segment."""


class Report(NamedTuple):
    batches: int
    damages: list[FoundDamage]


def verify_segments(segments: Sequence[SegmentPath], *, deep: bool, advance: Advance) -> Report:
    disk = RealDisk()
    batches = 0
    damages: list[FoundDamage] = []
    partition = ""
    transactions = TransactionWalk()
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        if segment.partition != partition:
            partition = segment.partition
            damages += _verify_snapshots(disk, os.path.dirname(segment.path))
            transactions = TransactionWalk()
        transactions.begin_segment()
        is_last = following is None or following.partition != segment.partition
        limit = segment.base_offset + RELATIVE_OFFSET_MAX + 1 if is_last or not following else following.base_offset
        walk = _Walk(segment, disk, transactions, offset_limit=limit, deep=deep)
        damages += (damaged := walk.run(advance))
        damages += _verify_indexes(disk, segment, walk.positions, damaged)
        if not damaged and (problem := transactions.problem(disk, segment, is_last=is_last)):
            damages.append(FoundDamage(problem[0], 0, 0, problem[1]))
        batches += walk.batches
    return Report(batches, damages)


class _Walk:
    """One segment from its first byte to its last."""

    def __init__(
        self, segment: SegmentPath, disk: RealDisk, transactions: TransactionWalk, *, offset_limit: int, deep: bool
    ) -> None:
        self.batches = 0
        self.positions: dict[int, int] = {}
        """The last offset of the batch at each position."""
        self._segment = segment
        self._disk = disk
        self._transactions = transactions
        self._offset_limit = offset_limit
        self._deep = deep

    def run(self, advance: Advance) -> list[FoundDamage]:
        file = self._disk.open(self._segment.path, readonly=True)
        try:
            return list(self._damages(file, advance))
        finally:
            file.close()

    def _damages(self, file: File, advance: Advance) -> Iterator[FoundDamage]:
        base_offset = self._segment.base_offset
        for found in scan_batches(
            file, 0, self._segment.size, next_offset=base_offset, offset_limit=self._offset_limit
        ):
            if isinstance(found, Damage):
                advance(found.size)
                yield FoundDamage(
                    found.path, found.position, found.size, found.reason, found.first_offset, found.next_offset
                )
                continue
            position, batch = found
            self.positions[position] = batch.header.last_offset
            self.batches += 1
            self._transactions.note(batch)
            advance(batch.header.size)
            yield from self._unreadable(position, batch)

    def _unreadable(self, position: int, batch: Batch) -> Iterator[FoundDamage]:
        if not self._deep:
            return
        try:
            decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)
        except KafkaError as error:
            header = batch.header
            reason = f"its CRC is right and its records cannot be read: {error}"
            yield FoundDamage(self._segment.path, position, header.size, reason, header.base_offset, header.next_offset)


def _verify_indexes(
    disk: RealDisk, segment: SegmentPath, positions: dict[int, int], damaged: Sequence[FoundDamage]
) -> Iterator[FoundDamage]:
    stem = segment.path.removesuffix(".log")
    for kind in (OFFSET_INDEX, TIME_INDEX):
        path = f"{stem}{kind}"
        if not disk.exists(path):
            continue
        content = _without_preallocation(disk.read_file(path))
        try:
            if kind == TIME_INDEX:
                TimeIndex.load(content)
                continue
            index = OffsetIndex.load(content)
        except CorruptIndex as error:
            yield FoundDamage(path, 0, len(content), f"{error}; a broker makes it anew")
            continue
        for number, (relative, position) in enumerate(zip(index.offsets, index.positions, strict=True)):
            offset = segment.base_offset + relative
            if any(each.position <= position < each.position + each.bytes for each in damaged):
                continue
            if positions.get(position, offset if position >= segment.size else None) != offset:
                reason = (
                    f"entry {number} says that offset {offset} ends the batch at byte {position}, which it does not"
                )
                yield FoundDamage(path, number * 8, 8, reason)
                break


def _without_preallocation(content: bytes) -> bytes:
    """Kafka gives an index its full size when it makes it; a cleanly closed one is cut."""
    return b"" if not content.strip(b"\0") else content


def _verify_snapshots(disk: RealDisk, directory: str) -> Iterator[FoundDamage]:
    for offset in list_snapshots(disk, directory or "."):
        path = snapshot_path(directory or ".", offset)
        content = disk.read_file(path)
        try:
            decode_snapshot(content)
        except CorruptSnapshot as error:
            reason = f"not a producer snapshot: {error}; a broker makes it anew"
            yield FoundDamage(path, 0, len(content), reason)
