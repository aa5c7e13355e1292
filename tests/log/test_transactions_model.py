"""Transactions over many restarts of a log compared with a model: read_committed consumers get exactly those records.

The model is the list of appended batches, and one pass over it that finds each batch's transaction and its outcome. The
log must agree after every step, whatever was rolled, compacted, deleted, truncated, or killed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from compaction_cases import COMPACTED, clean
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from log_fixtures import NOW_MS, PARTITION, TOPIC_ID, append_marker, open_store, read_all

from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.records.batch import read_batch
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing.disk import SimulatedDisk
from property_effort import examples

SETTINGS = replace(COMPACTED, delete=True, segment_bytes=700, index_interval_bytes=150, min_cleanable_dirty_ratio=0)
PRODUCERS = 3


@dataclass
class Sent:
    base: int
    last: int
    producer_id: int
    """-1: a plain batch."""
    commit: bool | None = None
    """Of a marker: what it says."""


@dataclass
class WalkResult:
    """What the walk finds."""

    open: dict[int, list[Sent]]
    ended: list[tuple[int, int]]
    """First offset and offset of the marker of each transaction that ended."""
    committed: set[int]
    """Offsets of records that may be read."""


def walk(batches: list[Sent]) -> WalkResult:
    result = WalkResult({}, [], set())
    for batch in batches:
        if batch.producer_id < 0:
            result.committed.update(range(batch.base, batch.last + 1))
        elif batch.commit is None:
            result.open.setdefault(batch.producer_id, []).append(batch)
        else:
            written = result.open.pop(batch.producer_id, [])
            if written:
                result.ended.append((written[0].base, batch.base))
            if batch.commit:
                result.committed.update(offset for each in written for offset in range(each.base, each.last + 1))
    return result


class Producer:
    def __init__(self, producer_id: int, transaction_version: int) -> None:
        self.producer_id = producer_id
        self.transaction_version = transaction_version
        self.epoch = 0
        self.sequence = 0


class TransactionsMachine(RuleBasedStateMachine):
    disk: SimulatedDisk
    store: LogStore
    log: PartitionLog

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Sent] = []
        self.producers = [Producer(n, n) for n in range(PRODUCERS)]
        self.now_ms = NOW_MS
        self.is_exact = True
        """No start of an open transaction was deleted, and no uncommitted end was lost."""

    @initialize()
    def start(self) -> None:
        self.disk = SimulatedDisk(now_ms=lambda: self.now_ms)
        self.store = open_store(self.disk, settings=SETTINGS)
        self.log = self.store.create(PARTITION, TOPIC_ID)
        self.store.checkpoint()

    def put(self, count: int, producer: Producer | None) -> None:
        log = self.log
        base = log.log_end_offset
        # Each key is unique: compaction takes away what was aborted, and nothing else.
        records = [Record(n, self.now_ms, b"%d" % (base + n), b"v" * 20) for n in range(count)]
        if producer is None:
            batch = read_batch(build_batch(records))
            guard = None
        else:
            batch = read_batch(
                build_batch(
                    records,
                    producer_id=producer.producer_id,
                    producer_epoch=producer.epoch,
                    base_sequence=producer.sequence,
                    transactional=True,
                )
            )
            guard = log.producers.begin_verification(
                producer.producer_id,
                producer.epoch,
                producer.sequence,
                supports_epoch_bump=producer.transaction_version == 2,
                now_ms=self.now_ms,
            )
            producer.sequence += count
        assert log.append([batch], leader_epoch=0, now_ms=self.now_ms, guard=guard).base_offset == base
        self.batches.append(Sent(base, base + count - 1, -1 if producer is None else producer.producer_id))

    @rule(count=st.integers(1, 3))
    def plain(self, count: int) -> None:
        self.put(count, None)

    @rule(who=st.integers(0, PRODUCERS - 1), count=st.integers(1, 3))
    def transactional(self, who: int, count: int) -> None:
        self.put(count, self.producers[who])

    @rule(who=st.integers(0, PRODUCERS - 1), commit=st.booleans())
    def end(self, who: int, commit: bool) -> None:
        producer = self.producers[who]
        if producer.transaction_version == 2:
            producer.epoch, producer.sequence = producer.epoch + 1, 0
        offset = append_marker(
            self.log,
            producer.producer_id,
            commit=commit,
            epoch=producer.epoch,
            transaction_version=producer.transaction_version,
        ).base_offset
        self.batches.append(Sent(offset, offset, producer.producer_id, commit))

    @rule(part=st.floats(0, 1))
    def commit_some(self, part: float) -> None:
        log = self.log
        log.high_watermark += int((log.log_end_offset - log.high_watermark) * part)

    @rule()
    def commit_all(self) -> None:
        self.log.high_watermark = self.log.log_end_offset

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.store.checkpoint()

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        log = self.log
        log.delete_records(log.log_start_offset + int((log.high_watermark - log.log_start_offset) * part))
        log.delete_old_segments(self.now_ms)
        self.store.checkpoint()

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        """What is committed stays; compaction counts on that."""
        log = self.log
        log.truncate_to(log.high_watermark + int((log.log_end_offset - log.high_watermark) * part), self.now_ms)
        self.end_has_moved()

    @rule(later_ms=st.integers(0, 2000))
    def compact(self, later_ms: int) -> None:
        self.now_ms += later_ms
        clean(self.disk, self.store, now_ms=self.now_ms)
        for job in self.log.store.due_deletions(self.now_ms + SETTINGS.file_delete_delay_ms):
            job.run()

    # Lives

    def end_has_moved(self) -> None:
        """The model drops what the log has lost, and the producers continue as clients would: in a new epoch."""
        self.is_exact = False
        self.batches = [batch for batch in self.batches if batch.last < self.log.log_end_offset]
        for producer in self.producers:
            entry = self.log.producers.producers.get(producer.producer_id)
            producer.epoch = max(producer.epoch, entry.epoch if entry is not None else 0) + 1
            producer.sequence = 0

    def reopen(self) -> None:
        self.store = open_store(self.disk, settings=SETTINGS, now_ms=self.now_ms)
        self.log = self.store.create(PARTITION, TOPIC_ID)
        self.end_has_moved()

    @rule()
    def restart_cleanly(self) -> None:
        self.store.close()
        self.reopen()

    @rule()
    def process_dies(self) -> None:
        end = self.log.log_end_offset
        self.disk.kill()
        self.reopen()
        assert self.log.log_end_offset == end or self.log.size == 0 or self.log.segments.active.size == 0

    @rule(seed=st.integers(0, 2**32))
    def power_cut(self, seed: int) -> None:
        before = {batch.header.base_offset for batch in read_all(self.log)}
        self.disk.crash(random.Random(seed))
        self.reopen()
        # In a log that is compacted, offsets may be missing: what was not synced may be lost from its middle, too.
        lost = before - {batch.header.base_offset for batch in read_all(self.log)}
        self.batches = [batch for batch in self.batches if batch.base not in lost]

    # Always

    def readable(self, start: int, end: int) -> Iterator[int]:
        """Read as a read_committed client does, from `start`: batches, and the list of aborted transactions."""
        aborted = sorted(self.log.aborted_transactions(start, end), key=lambda each: each.first_offset)
        skipping: set[int] = set()
        for batch in read_all(self.log):
            header = batch.header
            if header.last_offset < start or header.base_offset >= end:
                continue
            while aborted and aborted[0].first_offset <= header.last_offset:
                skipping.add(aborted.pop(0).producer_id)
            if header.is_control:
                marker = read_marker(batch)
                if marker is not None and not marker.commit:
                    skipping.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in skipping):
                offsets = (record.offset for record in decode_records(batch, max_bytes=1 << 20))
                yield from (offset for offset in offsets if start <= offset < end)

    @invariant()
    def committed_records_are_read_and_no_others(self) -> None:
        log = self.log
        stable = log.last_stable_offset
        start = log.log_start_offset
        assert start <= stable <= log.high_watermark
        committed = walk(self.batches).committed
        for first in {start, (start + stable) // 2, max(start, stable - 2)}:
            for end in {stable, (first + stable) // 2}:
                assert list(self.readable(first, end)) == sorted(each for each in committed if first <= each < end)

    @invariant()
    def the_last_stable_offset_waits_for_the_open_ones_and_no_others(self) -> None:
        log = self.log
        result = walk(self.batches)
        surely_open = [
            next(each.base for each in written if each.last >= log.log_start_offset)
            for written in result.open.values()
            if written[-1].last >= log.log_start_offset
        ]
        waited_for = [written[0].base for written in result.open.values()]
        waited_for += [first for first, marker in result.ended if marker >= log.high_watermark]
        latest = min([log.high_watermark, *surely_open])
        earliest = max(min([log.high_watermark, *waited_for]), log.log_start_offset)
        if self.is_exact:
            assert log.last_stable_offset == earliest
        assert earliest <= log.last_stable_offset <= max(latest, log.log_start_offset)


TransactionsMachine.TestCase.settings = settings(max_examples=examples(300), stateful_step_count=40, deadline=None)
TestTransactionsAgainstModel = TransactionsMachine.TestCase


def test_a_torn_batch_after_a_gap_is_not_taken_for_damage() -> None:
    """Found by the machine: the gap lies below the recovery point, the batch above it."""
    machine = TransactionsMachine()
    machine.start()
    machine.power_cut(seed=1)
    machine.transactional(count=2, who=0)
    machine.roll()
    machine.power_cut(seed=91)  # loses the batch, keeps the roll
    machine.truncate(part=0.5)
    machine.flush()
    machine.plain(count=1)
    machine.power_cut(seed=0)  # tears the new batch
    assert machine.log.log_end_offset == 1
    machine.committed_records_are_read_and_no_others()
