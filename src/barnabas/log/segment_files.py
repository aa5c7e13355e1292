"""The files of one segment: their names, and the open `.log`."""

from barnabas.env import Disk, File
from barnabas.log.file_names import DELETED, LOG, SEGMENT_KINDS, file_name


class SegmentFiles:
    __slots__ = ("base_offset", "directory", "disk", "opened_log", "suffix")

    def __init__(self, disk: Disk, directory: str, base_offset: int, suffix: str) -> None:
        self.disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = suffix
        """Of all file names: `.cleaned`, `.swap` or `.deleted` while the segment is replaced or deleted."""
        self.opened_log: File | None = None

    def path(self, kind: str) -> str:
        return f"{self.directory}/{file_name(self.base_offset, kind, self.suffix)}"

    @property
    def log(self) -> File:
        """Opened on first use."""
        if self.opened_log is None:
            self.opened_log = self.disk.open(self.path(LOG))
        return self.opened_log

    def create_log(self) -> None:
        """An existing file is emptied."""
        self.opened_log = self.disk.open(self.path(LOG), create=True)
        if self.opened_log.size():
            self.opened_log.truncate(0)

    def existing_paths(self) -> list[str]:
        return [self.path(kind) for kind in SEGMENT_KINDS if self.disk.exists(self.path(kind))]

    def change_suffix(self, suffix: str) -> None:
        """Rename the files. The open file and slices of it stay usable."""
        old_paths = self.existing_paths()
        old_suffix, self.suffix = self.suffix, suffix
        for path in old_paths:
            self.disk.rename(path, path.removesuffix(old_suffix) + suffix)
        if self.opened_log is not None:
            self.opened_log.moved_to(self.path(LOG))

    def mark_deleted(self) -> None:
        self.change_suffix(self.suffix + DELETED)

    def detach(self) -> list[File]:
        """Return the `.log`, if it is open, for the caller to close."""
        files = [self.opened_log] if self.opened_log is not None else []
        self.opened_log = None
        return files
