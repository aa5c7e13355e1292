"""What a log has synced, and the jobs that sync the rest.

A sealed segment's `.log`, indexes, producer snapshot and the directory are synced before the checkpointed recovery
point passes it. Of the active segment only the `.log` is synced: its indexes are rebuilt after a crash anyway.
"""

from collections.abc import Sequence

from barnabas.env import Disk
from barnabas.log.directory_health import DirectoryHealth
from barnabas.log.epoch_cache import FILE_NAME as EPOCH_FILE_NAME
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.file_names import INDEX_KINDS
from barnabas.log.jobs import FlushJob
from barnabas.log.partition_metadata import FILE_NAME as METADATA_FILE_NAME
from barnabas.log.producer_snapshot import snapshot_path
from barnabas.log.segment import Segment
from barnabas.log.segments import Segments


class FlushState:
    __slots__ = ("_directory", "_disk", "_health", "_is_running", "has_synced_directory", "recovery_point")

    def __init__(self, disk: Disk, directory: str, *, health: DirectoryHealth, recovery_point: int) -> None:
        self._disk = disk
        self._directory = directory
        self._health = health
        self.recovery_point = recovery_point
        """Every batch below is synced; `recovery_point <= log_end_offset`."""
        self.has_synced_directory = False
        """Whether the names of the files, the directory's own name and `partition.metadata` are synced."""
        self._is_running = False

    def checkpointed_recovery_point(self, segments: Segments, log_end_offset: int) -> int:
        """The recovery point for the checkpoint: at most within the first segment that is not sealed and fully synced.

        So that segment is scanned after a crash, even if the next batch goes to a new one.
        """
        active = segments.active
        unsynced = _unsynced(segments)
        if unsynced:
            return min(self.recovery_point, unsynced[0].base_offset)
        if active.sealed or active.size == 0:
            return self.recovery_point
        return min(self.recovery_point, max(active.base_offset, log_end_offset - 1))

    def begin(
        self, segments: Segments, epochs: EpochCache, log_end_offset: int, *, also: Sequence[str] = ()
    ) -> FlushJob | None:
        """A job that syncs everything in the log, and the files `also`.

        None: all is synced, or a flush is running.
        """
        self._health.check()
        unsynced = _unsynced(segments)
        if self._is_running or (self.recovery_point >= log_end_offset and not unsynced and self.has_synced_directory):
            return None
        directories = [self._directory]
        paths = [snapshot_path(self._directory, segment.base_offset) for segment in (*unsynced, segments.active)]
        paths += [segment.path(kind) for segment in unsynced for kind in INDEX_KINDS]
        with self._health.storage_errors(f"flushing {self._directory}"):
            files = [segment.file for segment in (*unsynced, segments.active)]
            if epochs.dirty:
                epochs.persist(self._disk, self._directory)
                paths.append(f"{self._directory}/{EPOCH_FILE_NAME}")
            elif self.has_synced_directory and not unsynced:
                directories = []
                paths = []
        if not self.has_synced_directory:
            directories.append(self._directory.rpartition("/")[0])
            paths.append(f"{self._directory}/{METADATA_FILE_NAME}")
        paths += also
        self._is_running = True
        return FlushJob(
            self._disk,
            target_offset=log_end_offset,
            sealed=unsynced,
            files=files,
            paths=paths,
            directories=directories,
        )

    def finish(self, job: FlushJob, log_end_offset: int) -> None:
        """Take the result of a job. A failed sync takes the directory offline: dirty pages may be lost.

        The log may have been truncated meanwhile, to `log_end_offset`.
        """
        self._is_running = False
        if job.error is not None:
            raise self._health.failure(job.error, f"syncing {self._directory}") from job.error
        for segment in job.sealed:
            segment.synced = True
        self.has_synced_directory = True
        self.recovery_point = max(self.recovery_point, min(job.target_offset, log_end_offset))

    def run(self, segments: Segments, epochs: EpochCache, log_end_offset: int, *, also: Sequence[str] = ()) -> None:
        """Flush in this thread."""
        job = self.begin(segments, epochs, log_end_offset, also=also)
        if job is not None:
            job.run()
            self.finish(job, log_end_offset)

    def truncate_to(self, log_end_offset: int) -> None:
        self.recovery_point = min(self.recovery_point, log_end_offset)
        self.has_synced_directory = False


def _unsynced(segments: Segments) -> list[Segment]:
    """Sealed segments that may not be synced; always the newest of the sealed ones."""
    first = last = len(segments) if segments.active.sealed else len(segments) - 1
    while first > 0 and not segments[first - 1].synced:
        first -= 1
    return segments.from_slot(first)[: last - first]
