"""Decisions as records: they survive a round trip at any size, and other records are not taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import Batch, read_batch
from barnabas.records.control import EndTransactionMarker, marker_batch
from barnabas.records.record import Record, build_batch
from barnabas.spark.sink.exactly_once import decisions
from barnabas.spark.sink.exactly_once.decision_log import last_in
from barnabas.spark.sink.exactly_once.decisions import (
    UnreadableDecision,
    decode_done,
    decode_part,
    decode_pointer,
    encode_decision,
    encode_done,
    encode_pointer,
    whole_decision,
)
from barnabas.spark.sink.exactly_once.entries import Decision, LastDecision, TaskEntry, WrittenRange
from barnabas.spark.sink.exactly_once.outcome import Marker, Outcome, OutcomeUnclear, first_marker, judged

BASE = "query"

ranges = st.builds(
    WrittenRange, st.text(min_size=1, max_size=5), st.integers(0, 9), st.integers(0, 99), st.integers(0, 99), st.just(1)
)
entries = st.builds(
    TaskEntry,
    st.integers(0, 10**6).map(lambda number: f"task-{number}"),
    st.integers(0, 2**62),
    st.integers(0, 2**15 - 1),
    st.integers(0, 2**15 - 1),
    st.lists(ranges, min_size=1, max_size=7).map(tuple),
)


@given(tasks=st.lists(entries, max_size=9, unique_by=lambda entry: entry.transactional_id), room=st.integers(1, 5))
def test_a_decision_of_any_size_is_read_as_it_was_written(tasks: list[TaskEntry], room: int) -> None:
    decision = Decision(7, tuple(tasks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decisions, "RANGES_PER_RECORD_MAX", room)
        records = encode_decision(BASE, decision)
    total = sum(len(entry.ranges) for entry in tasks)
    assert len(records) == max(1, -(-total // room))
    assert len({key for key, _ in records}) == len(records), "compaction must keep every part"
    parts = [decode_part(BASE, key, value) for key, value in records]
    assert whole_decision(part for part in parts if part) == decision
    assert whole_decision(part for part in parts[:-1] if part) is None, "a part is missing"
    assert decode_part("another", *records[0]) is None


def test_parts_of_an_older_and_longer_decision_are_not_read() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decisions, "RANGES_PER_RECORD_MAX", 1)
        long = encode_decision(BASE, decision_of(6, ranges_count=3))
    left_over = [decode_part(BASE, key, value) for key, value in long[1:]]
    assert whole_decision(part for part in left_over if part) is None


def test_pointer_and_done_record() -> None:
    assert decode_pointer(42, encode_pointer(7, is_done=True)) == LastDecision(7, 42, is_done=True)
    assert decode_pointer(42, "a note of somebody else") is None
    assert decode_pointer(42, "") is None
    assert decode_done(BASE, *encode_done(BASE, 7)) == 7
    assert decode_part(BASE, *encode_done(BASE, 7)) is None
    assert decode_done(BASE, *encode_decision(BASE, decision_of(7))[0]) is None


def test_records_of_later_versions_are_refused() -> None:
    with pytest.raises(UnreadableDecision, match="upgrade"):
        decode_part(BASE, b"query/0", b'{"v":2,"batch":7}')
    with pytest.raises(UnreadableDecision):
        decode_part(BASE, b"query/0", b"\xff")


def decision_of(batch_id: int, ranges_count: int = 1) -> Decision:
    written = tuple(WrittenRange("out", 0, index, index, 1) for index in range(ranges_count))
    return Decision(batch_id, (TaskEntry("task-0", 5, 1, 2, written),))


def written(pairs: list[tuple[bytes, bytes]], offset: int, producer_id: int) -> Batch:
    records = [Record(0, 1, key, value) for key, value in pairs]
    data = build_batch(records, base_offset=offset, producer_id=producer_id, producer_epoch=1, transactional=True)
    return read_batch(data)


def marker(offset: int, producer_id: int, *, commit: bool, epoch: int = 2) -> Batch:
    found = marker_batch(EndTransactionMarker(commit, 0), producer_id=producer_id, producer_epoch=epoch, now_ms=offset)
    return Batch(found.header._replace(base_offset=offset), found.data)


class TestFindingTheLastDecision:
    def test_committed_ones_count(self) -> None:
        log = [
            written(encode_decision(BASE, decision_of(1)), 0, 9),
            marker(1, 9, commit=True),
            written(encode_decision(BASE, decision_of(2)), 2, 9),
            marker(3, 9, commit=False),
        ]
        assert last_in(BASE, iter(log)) == LastDecision(1, 0, is_done=False)

    def test_others_in_between_do_not(self) -> None:
        log = [
            written(encode_decision("other", decision_of(8)), 0, 4),
            written(encode_decision(BASE, decision_of(3)), 1, 9),
            marker(2, 4, commit=False),
            marker(3, 9, commit=True),
            written(encode_decision(BASE, decision_of(4)), 4, 9),
        ]
        assert last_in(BASE, iter(log)) == LastDecision(3, 1, is_done=False)

    def test_done_is_known_where_it_was_committed(self) -> None:
        log = [written(encode_decision(BASE, decision_of(3)), 0, 9), marker(1, 9, commit=True)]
        done = written([encode_done(BASE, 3)], 2, 9)
        assert last_in(BASE, iter([*log, done, marker(3, 9, commit=False)])) == LastDecision(3, 0, is_done=False)
        assert last_in(BASE, iter([*log, done, marker(3, 9, commit=True)])) == LastDecision(3, 0, is_done=True)

    def test_a_later_decision_is_not_done_because_an_earlier_was(self) -> None:
        log = [
            written([encode_done(BASE, 3)], 0, 9),
            marker(1, 9, commit=True),
            written(encode_decision(BASE, decision_of(4)), 2, 9),
            marker(3, 9, commit=True),
        ]
        assert last_in(BASE, iter(log)) == LastDecision(4, 2, is_done=False)

    def test_none(self) -> None:
        assert last_in(BASE, iter([])) is None


class TestOutcome:
    entry = TaskEntry("task-0", 5, 1, 2, (WrittenRange("out", 0, 3, 7, 2),))

    def test_the_first_marker_of_the_producer_behind_its_last_record_counts(self) -> None:
        log = [
            marker(6, 5, commit=False),
            written([(b"k", b"v")], 7, 5),
            marker(8, 4, commit=False),
            marker(9, 5, commit=True),
            marker(10, 5, commit=False),
        ]
        assert first_marker(log, producer_id=5, after_offset=7) == Marker(True, 2)
        assert first_marker(log, producer_id=6, after_offset=7) is None

    @pytest.mark.parametrize("epoch", [1, 2, 3])
    def test_an_abort_is_one_in_any_epoch(self, epoch: int) -> None:
        assert judged(self.entry, Marker(False, epoch)) is Outcome.ABORTED

    def test_a_commit_has_its_epoch(self) -> None:
        assert judged(self.entry, Marker(True, 2)) is Outcome.COMMITTED
        with pytest.raises(OutcomeUnclear, match="compaction"):
            judged(self.entry, Marker(True, 4))
