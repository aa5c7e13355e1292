"""A log over many restarts compared with a model: exactly the appended and not deleted records can be read.

After a power cut anything that was not flushed may be lost, from the end only; what was flushed must be there.
"""

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from log_fixtures import NOW_MS, PARTITION, TOPIC_ID, damages_of, make_batch, open_store, read_all

from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.records.batch import Batch
from barnabas.testing.disk import PowerCut, SimulatedDisk
from barnabas.wire.errors import InvalidProducerEpoch, OutOfOrderSequenceNumber
from property_effort import examples

SETTINGS = LogSettings(
    segment_bytes=900,
    index_interval_bytes=150,
    segment_ms=4 * 3600_000,
    retention_ms=24 * 3600_000,
    retention_bytes=6000,
    file_delete_delay_ms=60_000,
    producer_id_expiration_ms=10**12,
)
HOUR_MS = 3600_000


class Producer:
    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = 0
        self.next_sequence = 0
        self.sent: list[tuple[Batch, int]] = []
        """The newest batches of this epoch that are in the log, with their base offsets."""

    def make(self, count: int, value: bytes, timestamp: int) -> Batch:
        return make_batch(
            count,
            value=value,
            timestamp=timestamp,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.next_sequence,
        )

    def start_over(self) -> None:
        """What a client does once the broker has lost its state: a new epoch."""
        self.epoch += 1
        self.next_sequence = 0
        self.sent.clear()


class LogMachine(RuleBasedStateMachine):
    disk: SimulatedDisk
    store: LogStore
    log: PartitionLog

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = NOW_MS
        self.leader_epoch = 0
        self.content: dict[int, bytes] = {}
        """Base offset to the expected batch, also below the log start."""
        self.ever: dict[int, set[bytes]] = {}
        """Everything that was ever at an offset: a power cut may bring it back."""
        self.flushed_to = 0
        self.log_start_ever = 0
        self.producers = [Producer(producer_id) for producer_id in range(3)]

    @initialize()
    def start(self) -> None:
        self.disk = SimulatedDisk(now_ms=lambda: self.now_ms)
        self.store = open_store(self.disk, settings=SETTINGS)
        self.log = self.store.create(PARTITION, TOPIC_ID)
        self.store.checkpoint()

    # Writing

    def appended(self, batch: Batch) -> int:
        before = self.log.log_end_offset
        result = self.log.append([batch], leader_epoch=self.leader_epoch, now_ms=self.now_ms)
        assert (result.base_offset, result.duplicate) == (before, False)
        assert self.log.log_end_offset == result.last_offset + 1 == before + batch.header.last_offset_delta + 1
        header = batch.header._replace(base_offset=before, leader_epoch=self.leader_epoch)
        data = make_prefix(header.base_offset, header.batch_length, header.leader_epoch) + bytes(batch.data[16:])
        self.content[before] = data
        self.ever.setdefault(before, set()).add(data)
        return before

    @rule(count=st.integers(1, 4), size=st.integers(0, 120), lag=st.integers(-5000, 5000))
    def append(self, count: int, size: int, lag: int) -> None:
        self.appended(make_batch(count, value=b"p" * size, timestamp=self.now_ms + lag))

    @rule(who=st.integers(0, 2), count=st.integers(1, 4), size=st.integers(0, 80))
    def append_idempotent(self, who: int, count: int, size: int) -> None:
        producer = self.producers[who]
        batch = producer.make(count, b"i" * size, self.now_ms)
        producer.sent = [*producer.sent, (batch, self.appended(batch))][-5:]
        producer.next_sequence += count

    @rule(who=st.integers(0, 2), which=st.integers(0, 4))
    def retry(self, who: int, which: int) -> None:
        producer = self.producers[who]
        if which < len(producer.sent):
            batch, offset = producer.sent[which]
            self.expect_duplicate(batch, offset)

    def expect_duplicate(self, batch: Batch, offset: int) -> None:
        end = self.log.log_end_offset
        result = self.log.append([batch], leader_epoch=self.leader_epoch, now_ms=self.now_ms)
        assert (result.base_offset, result.duplicate) == (offset, True)
        assert result.last_offset == offset + batch.header.last_offset_delta
        assert self.log.log_end_offset == end

    @precondition(lambda self: any(producer.sent for producer in self.producers))
    @rule(gap=st.integers(1, 10))
    def a_gap_or_an_old_epoch_is_refused(self, gap: int) -> None:
        producer = next(producer for producer in self.producers if producer.sent)
        ahead = make_batch(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=producer.next_sequence + gap,
        )
        with pytest.raises(OutOfOrderSequenceNumber):
            self.log.append([ahead], leader_epoch=self.leader_epoch, now_ms=self.now_ms)
        if producer.epoch > 0:
            old = make_batch(producer_id=producer.producer_id, producer_epoch=producer.epoch - 1, base_sequence=0)
            with pytest.raises(InvalidProducerEpoch):
                self.log.append([old], leader_epoch=self.leader_epoch, now_ms=self.now_ms)

    @rule()
    def new_leader(self) -> None:
        self.leader_epoch += 1

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    # Time and housekeeping

    @rule(hours=st.integers(0, 5))
    def time_passes(self, hours: int) -> None:
        self.now_ms += hours * HOUR_MS
        for job in self.log.store.due_deletions(self.now_ms):
            job.run()

    @rule(part=st.floats(0, 1))
    def commit(self, part: float) -> None:
        log = self.log
        log.high_watermark += int((log.log_end_offset - log.high_watermark) * part)

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        log = self.log
        offset = log.log_start_offset + int((log.high_watermark - log.log_start_offset) * part)
        assert log.delete_records(offset) == log.log_start_offset == offset

    @rule()
    def retention(self) -> None:
        before = self.log.log_start_offset
        self.log.delete_old_segments(self.now_ms)
        assert before <= self.log.log_start_offset <= self.log.high_watermark

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.flush_state.recovery_point == self.log.log_end_offset
        self.flushed_to = self.log.log_end_offset

    @rule()
    def checkpoint(self) -> None:
        self.store.checkpoint()

    # The end of the log moves back

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offset = int(self.log.log_end_offset * part)
        self.log.truncate_to(offset, self.now_ms)
        assert self.log.log_end_offset <= max(offset, 0) or offset >= self.log.log_end_offset
        self.forget_from(self.log.log_end_offset if self.log.size else 0)  # below the first segment everything goes
        self.check_producers()

    @rule(ahead=st.integers(0, 50))
    def truncate_fully(self, ahead: int) -> None:
        offset = self.log.log_end_offset + ahead
        self.log.truncate_fully_and_start_at(offset, self.now_ms)
        self.content.clear()
        self.flushed_to = 0
        assert self.log.log_start_offset == self.log.log_end_offset == self.log.high_watermark == offset
        for producer in self.producers:
            producer.start_over()

    def forget_from(self, offset: int) -> None:
        self.content = {base: data for base, data in self.content.items() if base < offset}
        self.flushed_to = min(self.flushed_to, offset)

    def check_producers(self) -> None:
        """The last surviving batch of each is still detected as a duplicate; then each starts over."""
        for producer in self.producers:
            known = [
                (batch, offset)
                for batch, offset in producer.sent
                if self.content.get(offset, b"")[16:] == batch.data[16:] and offset >= self.log.log_start_offset
            ]
            if known:
                self.expect_duplicate(*known[-1])
            producer.start_over()

    # Lives

    def reopen(self) -> None:
        self.store = open_store(self.disk, settings=SETTINGS, now_ms=self.now_ms)
        self.log = self.store.create(PARTITION, TOPIC_ID)

    @rule()
    def restart_cleanly(self) -> None:
        log = self.log
        # An epoch that wrote nothing below the end is forgotten, as in Kafka.
        epochs = [entry for entry in log.epochs.entries if entry.start_offset < log.log_end_offset]
        before = (log.log_start_offset, log.high_watermark, epochs, log.size)
        end = log.log_end_offset
        self.store.close()
        self.reopen()
        log = self.log
        assert (log.log_start_offset, log.high_watermark, log.epochs.entries, log.size) == before
        if log.size:
            assert log.log_end_offset <= end  # a truncation may leave the end behind the last batch
        self.flushed_to = log.log_end_offset
        for producer in self.producers:
            producer.sent = producer.sent[-1:]

    @rule()
    def process_dies(self) -> None:
        """Nothing that was written is lost, whatever was flushed."""
        end = self.log.log_end_offset
        written = max((base for base in self.content), default=-1)
        self.disk.kill()
        self.reopen()
        assert written < self.log.log_end_offset <= end
        self.after_a_crash()

    @rule(seed=st.integers(0, 2**32))
    def power_cut(self, seed: int) -> None:
        self.disk.crash(random.Random(seed))
        self.reopen()
        self.after_a_crash()

    @rule(seed=st.integers(0, 2**32), operations=st.integers(1, 40))
    def power_cut_while_working(self, seed: int, operations: int) -> None:
        """In the middle of the next operation."""
        self.disk.power_cut_at = self.disk.operations + operations
        flushed_to = self.flushed_to
        try:
            for n in range(12):
                self.append(2, 100, n)
                if n % 5 == 2:
                    self.log.flush()
                    flushed_to = self.log.log_end_offset
                    self.store.checkpoint()
        except PowerCut:
            pass
        self.flushed_to = flushed_to
        self.disk.crash(random.Random(seed))
        self.reopen()
        self.after_a_crash()

    def after_a_crash(self) -> None:
        """Everything that survived was once written there, and nothing that was flushed is missing."""
        log = self.log
        assert log.log_end_offset >= self.flushed_to
        survived = {batch.header.base_offset: bytes(batch.data) for batch in read_all(log)}
        for base, data in survived.items():
            assert data in self.ever[base]
        for base, data in self.content.items():
            if log.log_start_offset <= base < self.flushed_to:
                assert survived[base] == data
        self.content = survived
        self.leader_epoch = max(self.leader_epoch, log.epochs.latest_epoch) + 1
        self.check_producers()
        for producer in self.producers:  # a cut may bring back what was truncated, and with it later epochs
            entry = log.producers.producers.get(producer.producer_id)
            producer.epoch = max(producer.epoch, entry.epoch + 1 if entry is not None else 0)
        self.flushed_to = min(self.flushed_to, log.log_end_offset)

    # Always

    @invariant()
    def reads_agree(self) -> None:
        log = self.log
        self.log_start_ever = max(self.log_start_ever, log.log_start_offset)
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
        expected = [
            data
            for base, data in sorted(self.content.items())
            if base + int.from_bytes(data[23:27], "big") >= log.log_start_offset
        ]
        assert [bytes(batch.data) for batch in read_all(log)] == expected
        # A log start that was not checkpointed may come back lower than the epochs that were cut to it.
        first_known = log.epochs.entries[0].start_offset if log.epochs.entries else log.log_end_offset
        assert first_known <= max(self.log_start_ever, log.log_start_offset) or not self.content
        for base, data in self.content.items():
            if base >= first_known:
                assert log.epochs.epoch_at(base) == int.from_bytes(data[12:16], "big")
        assert damages_of(log) == []


def make_prefix(base_offset: int, batch_length: int, leader_epoch: int) -> bytes:
    return base_offset.to_bytes(8, "big") + batch_length.to_bytes(4, "big") + leader_epoch.to_bytes(4, "big")


LogMachine.TestCase.settings = settings(max_examples=examples(300), stateful_step_count=40, deadline=None)
TestLogAgainstModel = LogMachine.TestCase
