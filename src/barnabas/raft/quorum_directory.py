"""The quorum's files besides the log: `quorum-state` and the snapshots. Blocks: call it from workers."""

import os
from typing import NamedTuple

from barnabas.env import Disk
from barnabas.portable.replacement import TEMPORARY
from barnabas.raft.core.election_state import FILE_NAME, ElectionState, decode_election_state, encode_election_state
from barnabas.raft.core.snapshot_file import (
    BOOTSTRAP,
    Snapshot,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
    parse_snapshot_name,
)
from barnabas.raft.core.voters import VoterSet
from barnabas.wire.errors import CorruptMessage, KafkaError


class StoredSnapshot(NamedTuple):
    id: SnapshotId
    content: Snapshot


class QuorumDirectory:
    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path

    def format(self, voters: VoterSet, *, now_ms: int) -> None:
        """Format a new quorum of these voters, as `kafka-storage format --standalone` does. Only once per directory."""
        self._disk.make_dirs(self._path)
        if self.snapshot_ids():
            raise FileExistsError(f"{self._path} already holds a metadata quorum; it was not changed")
        pieces = encode_snapshot((), epoch=BOOTSTRAP.epoch, voters=voters, last_timestamp=now_ms, now_ms=now_ms)
        self.write_snapshot(BOOTSTRAP, b"".join(pieces))

    @property
    def is_formatted(self) -> bool:
        return self._disk.is_dir(self._path) and bool(self.snapshot_ids())

    def read_election(self) -> ElectionState | None:
        path = self._file(FILE_NAME)
        if not self._disk.exists(path):
            return None
        try:
            return decode_election_state(self._disk.read_file(path))
        except CorruptMessage as error:
            # One of several voters could vote twice in an epoch if it went on without.
            raise CorruptMessage(
                f"{path} is damaged: {error}. Restore it from a backup; the only voter of a quorum may do without: "
                "its log knows the epoch, so the file can be removed"
            ) from error

    def write_election(self, state: ElectionState) -> None:
        self._disk.replace_file(self._file(FILE_NAME), encode_election_state(state))

    def snapshot_ids(self) -> list[SnapshotId]:
        """Oldest first."""
        names = self._disk.list_dir(self._path)
        return sorted(found for found in map(parse_snapshot_name, names) if found is not None)

    def newest_snapshot(self) -> StoredSnapshot | None:
        ids = self.snapshot_ids()
        if not ids:
            return None
        path = self._file(ids[-1].file_name)
        try:
            return StoredSnapshot(ids[-1], decode_snapshot(self._disk.read_file(path)))
        except KafkaError as error:
            # An older snapshot would need a log that reaches back to it, and that should be examined first, too.
            raise CorruptMessage(
                f"{path} is damaged at {error}. Restore the whole data directory from a backup"
            ) from error

    def write_snapshot(self, snapshot_id: SnapshotId, content: bytes) -> None:
        self._disk.replace_file(self._file(snapshot_id.file_name), content)

    def remove_unfinished(self) -> None:
        """Remove snapshots that a crash interrupted: their names are not used again, so nothing else would."""
        for name in self._disk.list_dir(self._path):
            if name.endswith(TEMPORARY) and parse_snapshot_name(name.removesuffix(TEMPORARY)) is not None:
                self._disk.remove(self._file(name))

    def remove_snapshots_before(self, newest: SnapshotId) -> None:
        for snapshot_id in self.snapshot_ids():
            if snapshot_id < newest:
                self._disk.remove(self._file(snapshot_id.file_name))

    def _file(self, name: str) -> str:
        return os.path.join(self._path, name)
