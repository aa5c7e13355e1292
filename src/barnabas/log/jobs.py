"""Work for a worker thread: fsyncs and removals. A job touches no state of the log, which takes note afterwards."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.env import Disk, File
from barnabas.log.file_names import DELETED
from barnabas.log.segment import Segment


class FlushJob:
    """Syncs what a log held when the job was made. `run` on a worker, then `PartitionLog.finish_flush`."""

    __slots__ = ("_directories", "_disk", "_files", "_paths", "error", "now_ms", "sealed", "target_offset")

    def __init__(
        self,
        disk: Disk,
        *,
        target_offset: int,
        sealed: Sequence[Segment],
        files: Sequence[File],
        paths: Sequence[str],
        directories: Sequence[str],
        now_ms: int,
    ) -> None:
        self._disk = disk
        self.target_offset = target_offset
        """Everything below is on the device once the job has run."""
        self.sealed = sealed
        self.now_ms = now_ms
        self._files = files
        self._paths = paths
        self._directories = directories
        self.error: OSError | None = None

    def run(self) -> None:
        """Never raises: `finish_flush` deals with what went wrong."""
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
            # Retention took it meanwhile, and its removal has closed it: nobody needs it on the device any more.

    def _sync_path(self, path: str) -> None:
        try:
            file = self._disk.open(path)
        except FileNotFoundError:
            return  # retention took it meanwhile
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
    """Synced before anything is removed: what replaced the files must be there for good."""

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
