"""The share coordinator's core: overlapping ranges, fencing, snapshots, and a crash after any record."""

import uuid
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.core.key_hash import partition_of
from barnabas.coordinator.share.settings import ShareCoordinatorSettings
from barnabas.coordinator.share.shard import COLD, NEVER_INITIALIZED, ShareShard
from barnabas.coordinator.share.stored import Snapshot, SnapshotRecord, UpdateRecord, decode_record, encode_record
from barnabas.model.share import SharePartitionKey, StateBatch, StateRead, StateWrite, overlay, pruned
from barnabas.wire.errors import (
    CorruptMessage,
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    KafkaError,
    UnknownTopicOrPartition,
)

KEY = SharePartitionKey("g", uuid.UUID(int=7), 3)
OTHER = SharePartitionKey("g", uuid.UUID(int=8), 0)
NOW = Now(1_750_000_000_000, 0)
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4

batches = st.builds(
    lambda first, size, state, count: StateBatch(first, first + size, state, count),
    st.integers(0, 30),
    st.integers(0, 8),
    st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
    st.integers(1, 3),
)


class Log:
    """A shard that appends to a list; a crash replays the list into a new one."""

    def __init__(self, updates_per_snapshot: int = 3) -> None:
        self.settings = ShareCoordinatorSettings(updates_per_snapshot=updates_per_snapshot)
        self.partitions = {KEY, OTHER}
        self.records: list[tuple[bytes, bytes | None]] = []
        self.shard = self.new_shard()

    def new_shard(self) -> ShareShard:
        return ShareShard(self.settings, lambda key: key in self.partitions)

    def carry_out(self, decision: Decision[Any]) -> object:
        for record in decision.records:
            self.records += self.shard.encode_all([record])
            self.shard.replay(record)
        if isinstance(decision.response, KafkaError):
            raise decision.response
        return decision.response

    def recovered(self, after: int | None = None) -> ShareShard:
        shard = self.new_shard()
        for key, value in self.records[:after]:
            record = shard.decode(key, value)
            assert record is not None
            shard.replay(record)
        return shard

    def initialize(self, state_epoch: int = 1, start_offset: int = 0, key: SharePartitionKey = KEY) -> None:
        self.carry_out(self.shard.initialize(key, state_epoch=state_epoch, start_offset=start_offset, now=NOW))

    def write(self, *written: StateBatch, start: int = -1, complete: int = 0, state: int = 1, leader: int = 0) -> None:
        self.carry_out(self.shard.write(KEY, StateWrite(state, leader, start, complete, written), NOW))

    def read(self, leader_epoch: int = -1) -> StateRead:
        answer = self.carry_out(self.shard.read(KEY, leader_epoch=leader_epoch, now=NOW))
        assert isinstance(answer, StateRead)
        return answer


def by_offset(laid: list[StateBatch]) -> dict[int, tuple[int, int]]:
    return {
        offset: (batch.delivery_count, batch.delivery_state)
        for batch in laid
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }


@given(st.lists(batches, max_size=12), st.integers(0, 20))
def test_where_ranges_overlap_the_later_state_of_the_later_delivery_holds(news: list[StateBatch], start: int) -> None:
    laid: list[StateBatch] = []
    expected: dict[int, tuple[int, int]] = {}
    for new in news:
        overlay(laid, [new])
        for offset, rank in by_offset([new]).items():
            expected[offset] = max(rank, expected.get(offset, rank))
    assert by_offset(laid) == expected
    for before, after in pairwise(laid):
        assert before.last_offset < after.first_offset
        assert before.last_offset + 1 < after.first_offset or before[2:] != after[2:]
    assert by_offset(pruned(laid, start)) == {offset: rank for offset, rank in expected.items() if offset >= start}


def test_states_are_kept_and_read() -> None:
    log = Log()
    log.initialize(start_offset=5)
    log.write(StateBatch(5, 9, ACKNOWLEDGED, 1), StateBatch(12, 14, AVAILABLE, 2), complete=5)
    assert log.read() == StateRead(1, 5, (StateBatch(5, 9, ACKNOWLEDGED, 1), StateBatch(12, 14, AVAILABLE, 2)))
    log.write(StateBatch(10, 12, ACKNOWLEDGED, 2), start=10, complete=3)
    assert log.read() == StateRead(1, 10, (StateBatch(10, 12, ACKNOWLEDGED, 2), StateBatch(13, 14, AVAILABLE, 2)))
    assert log.shard.summary(KEY) == (1, 0, 10, 3)


def test_who_was_never_initialised_has_no_state() -> None:
    log = Log()
    with pytest.raises(InvalidRequest):
        log.read()
    with pytest.raises(InvalidRequest):
        log.write()
    assert log.shard.summary(KEY) == NEVER_INITIALIZED
    log.carry_out(log.shard.delete(KEY))
    assert log.records == []


def test_old_leaders_are_fenced() -> None:
    log = Log()
    log.initialize()
    log.read(leader_epoch=4)
    assert log.shard.summary(KEY).leader_epoch == 4
    with pytest.raises(FencedLeaderEpoch):
        log.write(leader=3)
    with pytest.raises(FencedLeaderEpoch):
        log.read(leader_epoch=3)
    written = len(log.records)
    log.read(leader_epoch=4)
    assert len(log.records) == written, "an epoch that is known is not written again"


def test_old_states_are_fenced() -> None:
    log = Log()
    log.initialize(state_epoch=2, start_offset=3)
    with pytest.raises(FencedStateEpoch):
        log.write(state=1)
    with pytest.raises(FencedStateEpoch):
        log.initialize(state_epoch=1)
    log.initialize(state_epoch=2, start_offset=8)
    assert log.read() == StateRead(2, 8, ())


def test_partitions_that_the_cluster_does_not_have_are_refused() -> None:
    log = Log()
    log.initialize()
    log.partitions.clear()
    for attempt in (log.initialize, log.write, log.read, lambda: log.carry_out(log.shard.delete(KEY))):
        with pytest.raises(UnknownTopicOrPartition):
            attempt()
    with pytest.raises(UnknownTopicOrPartition):
        log.shard.summary(KEY)


@pytest.mark.parametrize("batch", [StateBatch(3, 2, 0, 1), StateBatch(-1, 2, 0, 1), StateBatch(1, 2, 1, 1)])
def test_a_state_that_cannot_be_is_refused(batch: StateBatch) -> None:
    log = Log()
    log.initialize()
    with pytest.raises(InvalidRequest):
        log.write(batch)


def test_numbers_that_cannot_be_are_refused() -> None:
    log = Log()
    with pytest.raises(InvalidRequest):
        log.initialize(start_offset=-2)
    with pytest.raises(InvalidRequest):
        log.initialize(state_epoch=-2)
    log.initialize()
    with pytest.raises(InvalidRequest):
        log.write(start=-2)
    with pytest.raises(InvalidRequest):
        log.write(complete=-2)


def test_every_so_often_a_snapshot_takes_the_place_of_an_update() -> None:
    log = Log(updates_per_snapshot=2)
    log.initialize()
    for offset in range(7):
        log.write(StateBatch(offset, offset, ACKNOWLEDGED, offset + 1))
    kinds = [type(decode_record(*record)) for record in log.records]
    assert kinds == [SnapshotRecord, UpdateRecord, UpdateRecord] * 2 + [SnapshotRecord, UpdateRecord]
    # Everything before the last snapshot is redundant.
    log.records = log.records[-2:]
    assert log.recovered().states[KEY].batches == log.shard.states[KEY].batches


def test_who_is_not_written_to_is_snapshotted_once() -> None:
    log = Log()
    log.initialize()
    log.write(StateBatch(0, 3, ACKNOWLEDGED, 1))
    later = Now(NOW.wall_ms + log.settings.cold_snapshot_interval_ms, log.settings.cold_snapshot_interval_ms)
    log.carry_out(log.shard.on_timer(COLD, later))
    last = decode_record(*log.records[-1])
    assert isinstance(last, SnapshotRecord)
    assert last.value is not None
    assert last.value.snapshot_epoch == 1
    assert last.value.batches == (StateBatch(0, 3, ACKNOWLEDGED, 1),)
    written = len(log.records)
    much_later = Now(2 * later.wall_ms, 2 * later.monotonic_ms)
    log.carry_out(log.shard.on_timer(COLD, much_later))
    assert len(log.records) == written


def test_a_deleted_topic_takes_its_states_along() -> None:
    log = Log()
    log.initialize()
    log.initialize(key=OTHER)
    log.carry_out(log.shard.on_topics_deleted({KEY.topic_id}))
    assert set(log.recovered().states) == {OTHER}


def test_a_key_has_its_home_where_kafka_looks_for_it() -> None:
    key = SharePartitionKey("group", uuid.UUID("01234567-89ab-cdef-0123-456789abcdef"), 5)
    assert key.as_text() == "group:ASNFZ4mrze8BI0VniavN7w:5"
    assert 0 <= partition_of(key.as_text(), 50) < 50


def test_a_broken_record_is_called_so() -> None:
    key, _ = encode_record(SnapshotRecord(KEY, None))
    with pytest.raises(CorruptMessage):
        decode_record(b"\0", None)
    with pytest.raises(CorruptMessage):
        decode_record(key, b"\0\1")
    with pytest.raises(CorruptMessage):
        decode_record(key, b"\0\0\0")
    assert decode_record(b"\0\7", b"") is None
    impossible = Snapshot(0, 1, 0, 0, 0, 0, 0, (StateBatch(5, 4, AVAILABLE, 1),))
    with pytest.raises(CorruptMessage):
        decode_record(*encode_record(SnapshotRecord(KEY, impossible)))


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("write"), batches, st.integers(-1, 12)),
            st.tuples(st.just("lead"), st.integers(0, 5)),
            st.tuples(st.just("initialize"), st.integers(1, 3), st.integers(-1, 9)),
            st.tuples(st.just("delete")),
            st.tuples(st.just("cold")),
        ),
        max_size=25,
    )
)
def test_a_crash_after_any_step_loses_nothing(steps: list[tuple[object, ...]]) -> None:
    log = Log()
    log.initialize()
    later = 0
    for name, *arguments in steps:
        try:
            if name == "write":
                batch, start = arguments
                assert isinstance(batch, StateBatch)
                assert isinstance(start, int)
                log.write(batch, start=start, state=9, leader=9)
            elif name == "lead":
                assert isinstance(arguments[0], int)
                log.read(arguments[0])
            elif name == "initialize":
                epoch, start = arguments
                assert isinstance(epoch, int)
                assert isinstance(start, int)
                log.initialize(epoch, start)
            elif name == "delete":
                log.carry_out(log.shard.delete(KEY))
            else:
                later += log.settings.cold_snapshot_interval_ms
                log.carry_out(log.shard.on_timer(COLD, Now(NOW.wall_ms + later, later)))
        except (FencedLeaderEpoch, FencedStateEpoch, InvalidRequest):
            pass  # a refusal leaves no trace
        assert log.recovered().states == log.shard.states
