"""Random logs: the guarantees of compaction hold for all of them, also after a power cut in the middle."""

import random
from dataclasses import dataclass, replace

import pytest
from compaction_cases import COMPACTED, RETENTION_MS, clean, new_log, put, record_at, records_of, run, values_of
from hypothesis import given, settings
from hypothesis import strategies as st
from log_fixtures import NOW_MS, PARTITION, damages_of, open_store

from barnabas.log.compaction import CleanerSettings, Compactor
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.recovery import LogCheckpoint
from barnabas.records.compression import Codec
from barnabas.records.record import Record
from barnabas.testing.disk import PowerCut, SimulatedDisk
from property_effort import examples


@dataclass(frozen=True)
class Write:
    rows: list[tuple[bytes | None, bytes | None]]
    codec: int
    producer_id: int
    roll: bool


KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e" * 40, b"f" * 40])
VALUES = st.none() | st.binary(max_size=60)
WRITES = st.builds(
    Write,
    rows=st.lists(st.tuples(st.none() | KEYS, VALUES), min_size=1, max_size=6),
    codec=st.sampled_from(Codec),
    producer_id=st.sampled_from([-1, -1, 7, 8]),
    roll=st.booleans(),
)
ROUNDS = st.lists(
    st.tuples(st.lists(WRITES, max_size=12), st.sampled_from([0, RETENTION_MS - 1, RETENTION_MS, 10 * RETENTION_MS])),
    min_size=1,
    max_size=4,
)


class Writer:
    """Appends writes with the sequence numbers that their producers must have."""

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self._sequences = {7: 0, 8: 0}

    def write(self, writes: list[Write]) -> None:
        for write in writes:
            sequence = self._sequences.get(write.producer_id, -1)
            put(self.log, *write.rows, codec=write.codec, producer_id=write.producer_id, base_sequence=sequence)
            if write.producer_id >= 0:
                self._sequences[write.producer_id] += len(write.rows)
            if write.roll:
                self.log.roll(NOW_MS)


def newest_tombstones(records: list[Record]) -> set[int]:
    newest = {record.key: record for record in records if record.key is not None}
    return {record.offset for record in newest.values() if record.value is None}


@settings(max_examples=examples(60), deadline=None)
@given(ROUNDS, st.sampled_from([1, 600, 1 << 20]))
def test_promises(rounds: list[tuple[list[Write], int]], map_bytes: int) -> None:
    disk = SimulatedDisk(now_ms=lambda: NOW_MS)
    store, log = new_log(disk, replace(COMPACTED, min_cleanable_dirty_ratio=0.2))
    writer = Writer(log)
    now_ms = NOW_MS
    marked_at: dict[int, int] = {}
    for writes, wait_ms in rounds:
        writer.write(writes)
        now_ms += wait_ms
        before = records_of(log)
        producers = {producer_id: entry.last_sequence for producer_id, entry in log.producers.producers.items()}
        done = clean(disk, store, now_ms=now_ms, settings=CleanerSettings(dedupe_buffer_bytes=map_bytes))
        after = records_of(log)
        if done is None:
            assert after == before
            continue
        assert done.finished is not None
        end_offset = done.finished.end_offset
        # Offsets, order and content of what remains are unchanged; records beyond the dirty range are untouched.
        old = {record.offset: record for record in before}
        assert all(old[record.offset] == record for record in after)
        assert [record.offset for record in after] == sorted({record.offset for record in after})
        assert [r for r in after if r.offset >= end_offset] == [r for r in before if r.offset >= end_offset]
        # A table built from the log is the same, and below the end each key is there once.
        assert values_of(after) == values_of(before)
        keys = [record.key for record in after if record.offset < end_offset]
        assert None not in keys
        assert len(keys) == len(set(keys))
        # The newest tombstone of a key goes only when its time is over, counted from its first cleaning.
        kept = {record.offset for record in after}
        for offset in newest_tombstones(before):
            if offset < end_offset:
                first_ms = marked_at.setdefault(offset, now_ms)
                assert (offset in kept) == (now_ms < first_ms + RETENTION_MS or first_ms == now_ms)
        for offset in range(log.log_end_offset):
            assert record_at(log, offset) == next((r for r in after if r.offset >= offset), None)
        assert damages_of(log) == []
        # Reopening the log gives the same records and producer state.
        assert_reopens(disk, log, after, producers)


def assert_reopens(disk: SimulatedDisk, log: PartitionLog, records: list[Record], producers: dict[int, int]) -> None:
    """From a copy without snapshots or indexes, as after the worst crash."""
    copy = "/copy/topic-0"
    disk.make_dirs(copy)
    for name in disk.list_dir(log.directory):
        if name.endswith(".log"):
            disk.replace_file(f"{copy}/{name}", disk.read_file(f"{log.directory}/{name}"))
    reopened = PartitionLog.open(disk, copy, PARTITION, COMPACTED, LogCheckpoint(clean_shutdown=False), now_ms=NOW_MS)
    assert records_of(reopened) == records
    assert reopened.log_end_offset == log.log_end_offset
    assert {id_: entry.last_sequence for id_, entry in reopened.producers.producers.items()} == producers
    reopened.close(clean=False)
    disk.remove_tree("/copy")


ROWS = [
    Write([(b"k%d" % (n % 4), None if n % 5 == 0 else b"v%d" % n), (b"x", b"y" * n)], Codec(n % 5), 7, n % 6 == 5)
    for n in range(30)
]


def written_log() -> tuple[SimulatedDisk, LogStore, PartitionLog]:
    disk = SimulatedDisk(now_ms=lambda: NOW_MS)
    store, log = new_log(disk, replace(COMPACTED, segment_bytes=900))
    Writer(log).write(ROWS)
    log.roll(NOW_MS)
    log.flush()
    store.checkpoint()
    return disk, store, log


def reopened_log(disk: SimulatedDisk) -> tuple[LogStore, PartitionLog]:
    store = open_store(disk, settings=replace(COMPACTED, segment_bytes=900))
    return store, store.get(PARTITION)


@pytest.mark.parametrize("lost", ["nothing", "all unsynced", "some unsynced"])
def test_a_crash_at_any_step_leaves_the_log_before_or_after_a_swap(lost: str) -> None:
    disk, store, log = written_log()
    states = [records_of(log)]
    compactor = Compactor(disk, store, CleanerSettings())
    compaction = compactor.begin(NOW_MS)
    assert compaction is not None
    first = disk.operations
    run(compaction, disk, after_swap=lambda: states.append(records_of(log)))
    steps = disk.operations - first
    assert len(states) > 3
    assert steps > 50

    for step in range(1, steps + 1):
        disk, store, log = written_log()
        compaction = Compactor(disk, store, CleanerSettings()).begin(NOW_MS)
        assert compaction is not None
        disk.power_cut_at = disk.operations + step
        with pytest.raises(PowerCut):
            run(compaction, disk)
        if lost == "nothing":
            disk.kill()
        else:
            disk.crash(random.Random(step) if lost == "some unsynced" else None)
        store, log = reopened_log(disk)
        assert records_of(log) in states, f"power cut at step {step}"
        assert damages_of(log) == []
        assert log.producers.producers[7].last_sequence == 59
        assert not [name for name in disk.list_dir(log.directory) if name.endswith((".cleaned", ".swap", ".deleted"))]
        # The interrupted round runs again, with the same result.
        log.high_watermark = log.log_end_offset
        clean(disk, store)
        assert records_of(log) == states[-1]
