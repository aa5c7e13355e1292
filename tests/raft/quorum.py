"""A quorum of one on a simulated disk, with a minimal log, for the tests of this folder."""

import random
import uuid
from collections.abc import Iterable

from barnabas.env import InlineWorkers, Workers
from barnabas.env.disk import Disk, File
from barnabas.raft.core.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from barnabas.raft.node import RaftNode
from barnabas.raft.quorum_directory import QuorumDirectory
from barnabas.records.batch import Batch, crc_is_valid, split_batches
from barnabas.testing.disk import SimulatedDisk

LOCAL = ReplicaKey(1, uuid.UUID(int=4711))
VOTERS = VoterSet((Voter(LOCAL, (VoterEndpoint("CONTROLLER", "localhost", 9093),)),))
DIRECTORY = "/data/__cluster_metadata-0"
LOG_PATH = f"{DIRECTORY}/log"


class FileLog:
    """`MetadataLog` over one file. A new one reads what the file holds and cuts a torn tail off."""

    def __init__(self, disk: Disk, epochs_begun: list[int]) -> None:
        self._epochs_begun = epochs_begun
        new = not disk.exists(LOG_PATH)
        self._file: File = disk.open(LOG_PATH, create=True)
        if new:
            disk.sync_dir(DIRECTORY)
        content = self._file.read_at(0, self._file.size())
        self._batches: list[Batch] = []
        self._position = 0
        for batch in split_batches(content):
            if not crc_is_valid(batch):
                break
            self._batches.append(batch)
            self._position += batch.header.size
        self._file.truncate(self._position)
        self.start_offset = self._batches[0].header.base_offset if self._batches else 0
        self.high_watermark = 0
        self.syncs = 0

    @property
    def end_offset(self) -> int:
        return self._batches[-1].header.next_offset if self._batches else self.start_offset

    @property
    def last_epoch(self) -> int:
        return self._batches[-1].header.leader_epoch if self._batches else 0

    def epoch_end(self, epoch: int) -> tuple[int, int] | None:
        older = [batch.header for batch in self._batches if batch.header.leader_epoch <= epoch]
        return (older[-1].leader_epoch, older[-1].next_offset) if older else None

    @property
    def batches(self) -> list[Batch]:
        return self._batches

    def append(self, batch: bytes) -> None:
        (added,) = split_batches(batch)
        assert added.header.base_offset == self.end_offset
        assert added.header.leader_epoch >= self.last_epoch
        if added.header.is_control:
            self._epochs_begun.append(added.header.leader_epoch)
        self._file.write_at(self._position, [batch])
        self._position += len(batch)
        self._batches.append(added)

    def read(self, offset: int, max_bytes: int) -> bytes:
        # One batch at a time: the least the port allows.
        return next((bytes(batch.data) for batch in self._batches if batch.header.next_offset > offset), b"")

    def begin_sync(self) -> "FileLog":
        return self

    def run(self) -> None:
        self.syncs += 1
        self._file.sync()

    def finish_sync(self, job: object) -> None:
        assert job is self

    def commit(self, high_watermark: int) -> None:
        assert self.high_watermark <= high_watermark <= self.end_offset
        self.high_watermark = high_watermark

    def delete_prefix(self, offset: int) -> None:
        assert offset <= self.high_watermark
        kept = [batch for batch in self._batches if batch.header.next_offset > offset]
        self.start_offset = kept[0].header.base_offset if kept else max(self.start_offset, offset)
        self._batches = kept

    def restart_at(self, offset: int, epoch: int) -> None:
        self._batches = []
        self.start_offset = self.high_watermark = offset


class History:
    """A state machine whose state is the list of all its commands; its snapshot is that list."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.commits: list[tuple[int, int, list[bytes]]] = []
        self.started_from: tuple[int, int] | None = None
        self.ready = True
        self.failures: list[Exception] = []

    def on_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        assert self.started_from is None
        self.started_from = (end_offset, epoch)
        self.records = list(records)

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes]) -> None:
        assert self.started_from is not None
        if self.commits:
            last_base, last_epoch, last_records = self.commits[-1]
            assert base_offset >= last_base + len(last_records)
            assert epoch >= last_epoch
        self.commits.append((base_offset, epoch, records))
        self.records += records

    def snapshot(self) -> Iterable[bytes] | None:
        return tuple(self.records) if self.ready else None


class FixedClock:
    """Time stands still: no test here waits for it."""

    def now_ms(self) -> int:
        return 1_700_000_000_000

    monotonic_ms = now_ms

    def call_later(self, delay_ms: float, callback: object) -> "FixedClock":
        raise AssertionError("raft sets no timers with one voter")

    def cancel(self) -> None: ...

    async def sleep_ms(self, delay_ms: float) -> None: ...


class Quorum:
    """One replica over many restarts: each `boot` is a new process on the same disk."""

    def __init__(self, *, snapshot_interval_bytes: int = 1 << 30, workers: Workers | None = None) -> None:
        self.disk = SimulatedDisk()
        self.epochs_begun: list[int] = []
        """The epochs of all leaders that wrote anything, whether it survived or not."""
        self.files = QuorumDirectory(self.disk, DIRECTORY)
        self._workers = workers or InlineWorkers()
        self._snapshot_interval_bytes = snapshot_interval_bytes
        self.format()

    def format(self) -> None:
        self.files.format(VOTERS, now_ms=0)
        # Formatting the machine creates the directories and syncs them.
        self.disk.sync_dir("/data")
        self.disk.sync_dir("/")

    def boot(self, *, local: ReplicaKey = LOCAL) -> tuple[RaftNode, History, FileLog]:
        log, history = FileLog(self.disk, self.epochs_begun), History()
        node = RaftNode(
            local=local,
            directory=DIRECTORY,
            log=log,
            listener=history,
            on_failure=history.failures.append,
            disk=self.disk,
            clock=FixedClock(),
            workers=self._workers,
            snapshot_interval_bytes=self._snapshot_interval_bytes,
        )
        return node, history, log

    def power_cut(self, seed: int) -> None:
        self.disk.crash(random.Random(seed))
