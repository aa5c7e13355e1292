"""Jobs for a worker thread: fsyncs and deletions. A job does not change the log, which is updated afterwards."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.env import Disk, File
from barnabas.log.file_names import DELETED
from barnabas.log.segment import Segment


class FlushJob:
    """Syncs what was in a log when the job was created. Call `run` on a worker, then `PartitionLog.finish_flush`."""

    __slots__ = ("_directories", "_disk", "_files", "_paths", "error", "sealed", "target_offset")

    def __init__(
        self,
        disk: Disk,
        *,
        target_offset: int,
        sealed: Sequence[Segment],
        files: Sequence[File],
        paths: Sequence[str],
        directories: Sequence[str],
    ) -> None:
        self._disk = disk
        self.target_offset = target_offset
        """Everything below is synced once the job has run."""
        self.sealed = sealed
        self._files = files
        self._paths = paths
        self._directories = directories
        self.error: OSError | None = None

    def run(self) -> None:
        """Never raises: `finish_flush` handles the error."""
        try:
            for file in self._files:
                self._sync_file(file)
            for path in self._paths:
                self._sync_path(path)
            for directory in self._directories:
                self._disk.sync_dir(directory)
        except OSError as error:
            self.error = error

    def _sync_file(self, file: File) -> None:
        try:
            file.sync()
        except OSError:
            if not file.path.endswith(DELETED):
                raise
            # Retention deleted it meanwhile, and the deletion closed it: it need not be synced any more.

    def _sync_path(self, path: str) -> None:
        try:
            file = self._disk.open(path)
        except FileNotFoundError:
            return  # retention deleted it meanwhile
        try:
            file.sync()
        finally:
            file.close()


class DeletionJob(NamedTuple):
    """Removes files renamed to `.deleted` some time ago, or a whole directory; open files are closed first."""

    disk: Disk
    due_ms: int
    files: Sequence[File]
    paths: Sequence[str]
    synced_directory: str | None = None
    """Synced before anything is removed, so that the files' replacements are durable first."""

    def run(self) -> None:
        for file in self.files:
            file.close()
        if self.synced_directory is not None and self.disk.exists(self.synced_directory):
            self.disk.sync_dir(self.synced_directory)
        for path in self.paths:
            try:
                if self.disk.is_dir(path):
                    self.disk.remove_tree(path)
                else:
                    self.disk.remove(path)
            except FileNotFoundError:
                pass
