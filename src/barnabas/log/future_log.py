"""The future log of a partition that moves to another log directory: a copy that catches up with the current log.

As in Kafka, the copy is in `<topic>-<partition>.<id>-future` until it takes over. Only sealed segments are copied, as
they no longer change: the active one is sealed whenever it has grown, so each round copies what was appended since the
last. Segments that retention or the cleaner removed are removed from the copy too. When little is left, the rest is
written without a pause, the directory is renamed to the partition's name, and the log is opened there.

Then two directories have that name, until the new one is synced and the old one is removed. After a crash in between,
the next start keeps the one with the higher end offset (`duplicates`): the new one if it was synced, the old one if
the new one lost some of the rest. A crash before the rename does not affect the old one.
"""

import uuid
from collections.abc import Iterator
from typing import Final

from barnabas.env import Disk
from barnabas.log.file_names import INDEX_KINDS, LOG, SEGMENT_KINDS, file_name
from barnabas.log.index_cache import IndexCache
from barnabas.log.log_directory import FUTURE_SUFFIX, LogDirectory
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producer_snapshot import snapshot_path
from barnabas.log.recovery import LogCheckpoint
from barnabas.log.segment import Segment
from barnabas.model import TopicPartition
from barnabas.wire.errors import InvalidTopic, KafkaStorageError

COPY_BYTES: Final = 16 * 1024 * 1024
"""Per job, so that other jobs can use the worker in between."""
_PIECE_BYTES: Final = 1024 * 1024
DIRECTORY_NAME_MAX: Final = 255


class CopyJob:
    """Copies a part of one file. Call `run` on a worker; it may raise OSError."""

    def __init__(self, disk: Disk, source: str, target: str, position: int, size: int) -> None:
        self._disk = disk
        self._source = source
        self._target = target
        self._position = position
        self.size = size

    def run(self) -> None:
        source = self._disk.open(self._source, readonly=True)
        try:
            target = self._disk.open(self._target, create=True)
            try:
                for position in range(self._position, self._position + self.size, _PIECE_BYTES):
                    size = min(_PIECE_BYTES, self._position + self.size - position)
                    target.write_at(position, [source.read_at(position, size)])
                target.sync()
            finally:
                target.close()
        finally:
            source.close()


class FutureLog:
    def __init__(self, disk: Disk, directory: LogDirectory, topic_partition: TopicPartition, unique: uuid.UUID) -> None:
        name = f"{topic_partition}.{unique.hex}{FUTURE_SUFFIX}"
        if len(name) > DIRECTORY_NAME_MAX:
            raise InvalidTopic("The topic name is too long.")
        self._disk = disk
        self.directory = directory
        self.topic_partition = topic_partition
        self.path = f"{directory.path}/{name}"
        self._copied: dict[int, Segment] = {}
        self.size = 0
        """In bytes, as far as it was copied."""

    @property
    def end_offset(self) -> int:
        """Everything below was copied, and possibly more."""
        return max(self._copied, default=0)

    def begin(self) -> None:
        self._disk.make_dirs(self.path)

    def discard(self) -> None:
        """Waits for the device."""
        if self._disk.exists(self.path):
            self._disk.remove_tree(self.path)

    def segments_to_copy(self, log: PartitionLog) -> list[Segment]:
        """The sealed segments that are not copied yet. Removes copies of segments that the log no longer has."""
        sealed = {segment.base_offset: segment for segment in log.segments if segment is not log.segments.active}
        for base_offset, segment in list(self._copied.items()):
            if sealed.get(base_offset) is not segment:
                self._remove_copy(base_offset, segment)
        return [segment for base_offset, segment in sealed.items() if base_offset not in self._copied]

    def _remove_copy(self, base_offset: int, segment: Segment) -> None:
        del self._copied[base_offset]
        self.size -= segment.size
        for path in self._paths(base_offset):
            if self._disk.exists(path):
                self._disk.remove(path)

    def _paths(self, base_offset: int) -> list[str]:
        names = [f"{self.path}/{file_name(base_offset, kind)}" for kind in SEGMENT_KINDS]
        return [*names, snapshot_path(self.path, base_offset)]

    def copy_jobs(self, segment: Segment) -> Iterator[CopyJob]:
        """Jobs that copy the files of a segment, the `.log` last. Call `finish` after all have run."""
        base_offset, directory = segment.base_offset, segment.path(LOG).rpartition("/")[0]
        sources = [segment.path(kind) for kind in INDEX_KINDS]
        sources.append(snapshot_path(directory, base_offset))
        for source in sources:
            if self._disk.exists(source):
                target = f"{self.path}/{source.rpartition('/')[2]}"
                yield CopyJob(self._disk, source, target, 0, self._disk.size(source))
        source, target = segment.path(LOG), f"{self.path}/{file_name(base_offset, LOG)}"
        for position in range(0, max(segment.size, 1), COPY_BYTES):
            yield CopyJob(self._disk, source, target, position, min(COPY_BYTES, segment.size - position))

    def finish(self, segment: Segment) -> None:
        self._copied[segment.base_offset] = segment
        self.size += segment.size

    def take_over(self, log: PartitionLog, now_ms: int) -> PartitionLog:
        """Copy the rest, rename the directory, and open it: returns the partition's new log.

        Every sealed segment must have been copied, and the active one must be small. On failure nothing has changed.
        """
        active = log.segments.active
        snapshot = snapshot_path(log.directory, active.base_offset)
        if self._disk.exists(snapshot):
            self._write(snapshot_path(self.path, active.base_offset), self._disk.read_file(snapshot))
        self._write(f"{self.path}/{file_name(active.base_offset, LOG)}", active.file.read_at(0, active.size))
        path = f"{self.directory.path}/{self.topic_partition}"
        self._disk.rename(self.path, path)
        try:
            new = self._open(path, log, now_ms)
        except BaseException:
            self._disk.rename(path, self.path)
            raise
        # These hold more than is on disk: transactions that are being verified, epochs without records.
        new.producers = log.producers
        new.epochs = log.epochs
        new.epochs.dirty = True
        new.high_watermark = log.high_watermark
        return new

    def _open(self, path: str, log: PartitionLog, now_ms: int) -> PartitionLog:
        new = PartitionLog.open(
            self._disk,
            path,
            self.topic_partition,
            log.settings,
            LogCheckpoint(
                clean_shutdown=False,
                recovery_point=log.log_end_offset,  # there was no crash: damage in the copy is in the original too
                log_start_offset=log.log_start_offset,
                high_watermark=log.high_watermark,
            ),
            now_ms=now_ms,
            topic_id=log.topic_id,
            health=self.directory.health,
            cache=IndexCache(),
        )
        if new.log_end_offset != log.log_end_offset:
            for file in new.store.detach():
                file.close()
            raise KafkaStorageError(
                f"the copy of {log.directory} ends at offset {new.log_end_offset}, not at {log.log_end_offset}"
            )
        new.flush_state.recovery_point = log.segments.active.base_offset
        return new

    def _write(self, path: str, content: bytes) -> None:
        file = self._disk.open(path, create=True)
        try:
            file.truncate(0)
            if content:
                file.write_at(0, [content])
        finally:
            file.close()
