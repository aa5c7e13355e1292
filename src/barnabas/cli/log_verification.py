"""`barnabas log verify`: every batch of every segment, and the files beside them.

Segments are read with the broker's own scan, so both find the same batches readable. The report also says what a broker
will do when it starts: after a crash, it truncates the log at damage after the recovery point.
"""

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from barnabas.cli.file_verification import verify_partition_files
from barnabas.cli.found_damage import FoundDamage
from barnabas.cli.log_files import SegmentPath
from barnabas.cli.partition_state import PartitionState, read_state
from barnabas.cli.progress import Advance
from barnabas.cli.segment_reader import DECOMPRESSED_BYTES_MAX
from barnabas.cli.transaction_verification import TransactionWalk
from barnabas.env.disk import File, RealDisk
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage, PlacedBatch, scan_batches
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.file_names import OFFSET_INDEX, TIME_INDEX
from barnabas.log.index_file import CorruptIndex
from barnabas.log.offset_index import OffsetIndex
from barnabas.log.segment_recovery import may_be_truncated, scan_after_crash
from barnabas.log.time_index import TimeIndex
from barnabas.records.batch import Batch
from barnabas.records.record import decode_records
from barnabas.wire.errors import KafkaError


class Readable(NamedTuple):
    """A range of offsets that a broker serves."""

    partition: str
    first_offset: int
    last_offset: int


class Report(NamedTuple):
    batches: int
    damages: list[FoundDamage]
    readable: list[Readable]


def verify_segments(segments: Sequence[SegmentPath], *, deep: bool, advance: Advance) -> Report:
    report = Report(0, [], [])
    for _, group in groupby(segments, key=lambda segment: os.path.dirname(segment.path)):
        found = _PartitionWalk(list(group), deep=deep).run(advance)
        report = Report(
            report.batches + found.batches, report.damages + found.damages, report.readable + found.readable
        )
    return report


class _PartitionWalk:
    """One partition, from its first segment to its last."""

    def __init__(self, segments: Sequence[SegmentPath], *, deep: bool) -> None:
        self._segments = segments
        self._deep = deep
        self._disk = RealDisk()
        self._directory = os.path.dirname(segments[0].path) or "."
        self._state: PartitionState = read_state(self._disk, self._directory)
        self._transactions = TransactionWalk()
        self._damages: list[FoundDamage] = []
        self._readable: list[Readable] = []
        self._batches = 0
        self._epochs: EpochCache | None = None

    def run(self, advance: Advance) -> Report:
        self._epochs, damages = verify_partition_files(self._disk, self._directory)
        self._damages += damages
        for segment, following in zip(self._segments, [*self._segments, None][1:], strict=True):
            if not self._verify(segment, following, advance):
                break
        return Report(self._batches, self._damages, self._readable)

    def _verify(self, segment: SegmentPath, following: SegmentPath | None, advance: Advance) -> bool:
        """False: a broker will truncate the log there."""
        is_last = following is None
        limit = segment.base_offset + RELATIVE_OFFSET_MAX + 1 if following is None else following.base_offset
        if is_last and self._state.is_clean and self._state.closed_at is not None:
            limit = max(self._state.closed_at, segment.base_offset)
        batches: list[PlacedBatch] = []
        damages: list[FoundDamage] = []
        is_cut = False
        self._transactions.begin_segment()
        file = self._disk.open(segment.path, readonly=True)
        try:
            for found in self._scan(file, segment, limit, is_last=is_last):
                advance(found.end - found.position)
                if isinstance(found, PlacedBatch):
                    batches.append(found._replace(batch=Batch(found.batch.header, memoryview(b""))))
                    damages += self._take(segment, found)
                    continue
                is_cut = not self._state.is_clean and may_be_truncated(
                    found, self._state.recovery_point, is_last=is_last
                )
                damages.append(_found(found, is_cut=is_cut))
                if is_cut:
                    break
        finally:
            file.close()
        self._batches += len(batches)
        self._damages += [*damages, *_verify_indexes(self._disk, segment, batches, damages)]
        if not damages and (problem := self._transactions.problem(self._disk, segment, is_last=is_last)):
            self._damages.append(FoundDamage(problem[0], 0, 0, problem[1]))
        return not is_cut

    def _scan(self, file: File, segment: SegmentPath, limit: int, *, is_last: bool) -> Iterator[PlacedBatch | Damage]:
        if self._state.is_clean:
            return scan_batches(file, 0, segment.size, next_offset=segment.base_offset, offset_limit=limit)
        return scan_after_crash(
            file,
            segment.size,
            base_offset=segment.base_offset,
            offset_limit=limit,
            recovery_point=self._state.recovery_point,
            is_last=is_last,
        )

    def _take(self, segment: SegmentPath, found: PlacedBatch) -> Iterator[FoundDamage]:
        position, batch = found
        header = batch.header
        self._transactions.note(batch)
        run = self._readable[-1] if self._readable else None
        if run is not None and run.last_offset + 1 == header.base_offset:
            self._readable[-1] = run._replace(last_offset=header.last_offset)
        else:
            self._readable.append(Readable(segment.partition, header.base_offset, header.last_offset))
        if self._epochs is not None and self._epochs.epoch_at(header.base_offset) not in (-1, header.leader_epoch):
            path = f"{self._directory}/leader-epoch-checkpoint"
            reason = (
                f"offset {header.base_offset} has leader epoch {header.leader_epoch}; a broker writes the file again"
            )
            self._damages.append(FoundDamage(path, 0, 0, reason))
            self._epochs = None
        if self._deep:
            try:
                decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)
            except KafkaError as error:
                reason = f"its CRC is right, but its records cannot be read: {error}"
                yield FoundDamage(segment.path, position, header.size, reason, header.base_offset, header.next_offset)


def _found(damage: Damage, *, is_cut: bool) -> FoundDamage:
    reason = f"{damage.reason}; a broker truncates the log here when it starts" if is_cut else damage.reason
    next_offset = None if is_cut else damage.next_offset
    return FoundDamage(damage.path, damage.position, damage.size, reason, damage.first_offset, next_offset)


def _verify_indexes(
    disk: RealDisk, segment: SegmentPath, batches: Sequence[PlacedBatch], damaged: Sequence[FoundDamage]
) -> Iterator[FoundDamage]:
    stem = segment.path.removesuffix(".log")
    for kind, verify in ((OFFSET_INDEX, _verify_offset_index), (TIME_INDEX, _verify_time_index)):
        path = f"{stem}{kind}"
        if not disk.exists(path):
            continue
        content = _without_preallocation(disk.read_file(path))
        try:
            problem = verify(content, segment, batches, damaged)
        except CorruptIndex as error:
            problem = (0, len(content), str(error))
        if problem is not None:
            yield FoundDamage(path, problem[0], problem[1], f"{problem[2]}; a broker rebuilds it")


Problem = tuple[int, int, str]
"""Position, size and reason."""


def _verify_offset_index(
    content: bytes, segment: SegmentPath, batches: Sequence[PlacedBatch], damaged: Sequence[FoundDamage]
) -> Problem | None:
    index = OffsetIndex.load(content)
    last_offsets = {found.position: found.batch.header.last_offset for found in batches}
    for number, (relative, position) in enumerate(zip(index.offsets, index.positions, strict=True)):
        offset = segment.base_offset + relative
        if any(each.position <= position < each.position + each.bytes for each in damaged):
            continue
        if last_offsets.get(position, offset if position >= segment.size else None) != offset:
            reason = f"entry {number} (last offset {offset}) does not match the batch at byte {position}"
            return number * 8, 8, reason
    return None


def _verify_time_index(
    content: bytes, segment: SegmentPath, batches: Sequence[PlacedBatch], damaged: Sequence[FoundDamage]
) -> Problem | None:
    index = TimeIndex.load(content)
    ends = [found.batch.header.last_offset for found in batches]
    for number, (timestamp, relative) in enumerate(zip(index.timestamps, index.offsets, strict=True)):
        offset = segment.base_offset + relative
        slot = bisect_left(ends, offset)
        if slot == len(ends) or batches[slot].batch.header.base_offset > offset:
            continue  # compacted, damaged, or not written when the index was read
        if batches[slot].batch.header.max_timestamp != timestamp:
            return (
                number * 12,
                12,
                f"entry {number} (timestamp {timestamp}) does not match the batch at offset {offset}",
            )
    return None


def _without_preallocation(content: bytes) -> bytes:
    """Kafka preallocates an index file, and truncates it at a clean shutdown."""
    return b"" if not content.strip(b"\0") else content
