"""The share-partition's core by example: which member gets which record, and its state afterwards."""

import pytest

from barnabas.model.share import DeliveryState, StateBatch
from barnabas.share_partitions.core.delivery import SPANS_MAX, SharePartitionCore, Transition
from barnabas.share_partitions.core.terms import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    Acquired,
    OffsetRange,
    ShareLimits,
)
from barnabas.wire.errors import InvalidRecordState, InvalidRequest

LIMITS = ShareLimits(delivery_count_limit=5, record_locks_max=100, lock_duration_ms=30_000)
LOG = [OffsetRange(0, 9), OffsetRange(10, 14), OffsetRange(15, 29), OffsetRange(30, 39)]


def acquire(
    core: SharePartitionCore,
    member: str = "a",
    records_max: int = 1000,
    *,
    batch_size: int = 1000,
    exact: bool = False,
    log: list[OffsetRange] = LOG,
    ineligible: list[OffsetRange] | None = None,
    limits: ShareLimits = LIMITS,
    now_ms: int = 0,
) -> list[Acquired]:
    fetch_offset = core.next_fetch_offset()
    return core.acquire(
        member,
        [batch for batch in log if batch.last >= fetch_offset],
        fetch_offset=fetch_offset,
        records_max=records_max,
        batch_size=batch_size,
        exact=exact,
        ineligible=ineligible or [],
        limits=limits,
        now_ms=now_ms,
    )


def acknowledge(
    core: SharePartitionCore,
    member: str,
    first: int,
    last: int,
    *types: int,
    limits: ShareLimits = LIMITS,
    now_ms: int = 0,
) -> Transition:
    transition = core.acknowledge(member, [Acknowledgement(first, last, types)], limits, now_ms)
    core.commit(transition)
    return transition


def test_a_limit_is_rounded_up_to_a_batch() -> None:
    core = SharePartitionCore(0)
    assert acquire(core, "a", 11) == [Acquired(0, 14, 1)]
    assert acquire(core, "b", 1) == [Acquired(15, 29, 1)]
    assert acquire(core, "c") == [Acquired(30, 39, 1)]
    assert acquire(core, "d") == []


def test_an_exact_limit_is_not() -> None:
    core = SharePartitionCore(0)
    assert acquire(core, "a", 11, exact=True) == [Acquired(0, 10, 1)]
    assert acquire(core, "b", 3, exact=True) == [Acquired(11, 13, 1)]


def test_what_is_acquired_comes_in_pieces_of_the_batch_size_or_more() -> None:
    core = SharePartitionCore(0)
    assert acquire(core, batch_size=8) == [
        Acquired(0, 9, 1),
        Acquired(10, 29, 1),
        Acquired(30, 39, 1),
    ]


def test_accepted_records_are_done() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    transition = acknowledge(core, "a", 0, 9, ACCEPT)
    assert transition.batches == [StateBatch(0, 9, DeliveryState.ACKNOWLEDGED, 1)]
    assert (core.start_offset, core.end_offset, core.delivery_complete_count) == (10, 10, 0)
    assert acquire(core, "b", 1) == [Acquired(10, 14, 1)]


def test_released_records_come_again_and_first() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    acknowledge(core, "a", 3, 5, RELEASE)
    assert acquire(core, "b", 3, exact=True) == [Acquired(3, 5, 2)]
    assert acquire(core, "c", 1) == [Acquired(10, 14, 1)]


def test_each_record_may_have_its_own_answer() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    acknowledge(core, "a", 0, 4, ACCEPT, ACCEPT, RELEASE, REJECT, GAP)
    assert core.start_offset == 2
    assert core.delivery_complete_count == 2
    assert acquire(core, "b", 1, exact=True) == [Acquired(2, 2, 2)]
    acknowledge(core, "b", 2, 2, ACCEPT)
    assert core.start_offset == 5
    assert core.delivery_complete_count == 0


def test_nobody_acknowledges_what_another_has() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    acquire(core, "b", 5)
    with pytest.raises(InvalidRecordState):
        acknowledge(core, "a", 5, 12, ACCEPT)
    with pytest.raises(InvalidRecordState):
        acknowledge(core, "c", 0, 1, ACCEPT)
    with pytest.raises(InvalidRequest):
        acknowledge(core, "b", 10, 15, ACCEPT)
    acknowledge(core, "a", 0, 9, ACCEPT)  # the attempt before has changed nothing
    acknowledge(core, "a", 0, 9, ACCEPT)  # and what lies before the start needs no owner
    assert core.start_offset == 10


def test_a_record_is_acknowledged_once() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 15)
    under_way = core.acknowledge("a", [Acknowledgement(5, 9, [ACCEPT])], LIMITS, 0)
    assert core.delivery_complete_count == 5
    with pytest.raises(InvalidRecordState):
        acknowledge(core, "a", 9, 10, RELEASE)
    core.commit(under_way)
    with pytest.raises(InvalidRecordState):
        acknowledge(core, "a", 5, 5, RELEASE)


def test_what_cannot_be_persisted_is_taken_back() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    core.roll_back(core.acknowledge("a", [Acknowledgement(0, 4, [ACCEPT])], LIMITS, 0))
    assert core.delivery_complete_count == 0
    assert core.start_offset == 0
    core.expire(LIMITS, 30_000)
    assert acquire(core, "b", 10) == [Acquired(0, 9, 2)]


def test_a_lock_times_out() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    acquire(core, "b", 5, now_ms=10_000)
    assert core.next_lock_deadline_ms() == 30_000
    assert core.expire(LIMITS, 29_999) == []
    assert core.expire(LIMITS, 30_000) == [StateBatch(0, 9, DeliveryState.AVAILABLE, 1)]
    with pytest.raises(InvalidRecordState):
        acknowledge(core, "a", 0, 9, ACCEPT)
    assert acquire(core, "c", 10) == [Acquired(0, 9, 2)]
    assert core.expire(LIMITS, 40_000) == [
        StateBatch(0, 9, DeliveryState.AVAILABLE, 2),
        StateBatch(10, 14, DeliveryState.AVAILABLE, 1),
    ]


def test_a_lock_is_renewed() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    assert acknowledge(core, "a", 2, 4, RENEW, now_ms=20_000).batches == []
    assert core.expire(LIMITS, 30_000) == [
        StateBatch(0, 1, DeliveryState.AVAILABLE, 1),
        StateBatch(5, 9, DeliveryState.AVAILABLE, 1),
    ]
    acknowledge(core, "a", 2, 4, ACCEPT, now_ms=49_999)
    with pytest.raises(InvalidRecordState):
        acknowledge(core, "a", 2, 4, RENEW, limits=ShareLimits(renew_enabled=False))


def test_a_member_that_goes_gives_back() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 10)
    acquire(core, "b", 5)
    acknowledge(core, "a", 2, 3, ACCEPT)
    core.commit(core.release("a", LIMITS))
    assert acquire(core, "c", 10, exact=True) == [Acquired(0, 1, 2), Acquired(4, 9, 2), Acquired(15, 16, 1)]


def test_a_record_is_not_delivered_for_ever() -> None:
    limits = ShareLimits(delivery_count_limit=2)
    core = SharePartitionCore(0)
    for count in (1, 2):
        assert acquire(core, "a", 10, limits=limits, log=LOG[:1]) == [Acquired(0, 9, count)]
        acknowledge(core, "a", 0, 9, RELEASE, limits=limits)
    assert core.start_offset == 10
    assert acquire(core, "a", 10, log=LOG[:1]) == []


def test_suspects_go_out_in_ever_smaller_company() -> None:
    core = SharePartitionCore(0, [StateBatch(0, 15, DeliveryState.AVAILABLE, 3)])
    log = [OffsetRange(0, 99)]
    assert acquire(core, "a", log=log) == [Acquired(0, 7, 4)]
    core.expire(LIMITS, 30_000)
    assert acquire(core, "a", log=log, now_ms=30_000) == [Acquired(0, 0, 5)]
    assert acquire(core, "b", log=log, now_ms=30_000) == [Acquired(1, 1, 5)]


def test_the_window_is_bounded() -> None:
    limits = ShareLimits(record_locks_max=20)
    core = SharePartitionCore(0)
    assert acquire(core, "a", limits=limits) == [Acquired(0, 29, 1)]  # rounded up to the batch
    assert not core.can_acquire(limits)
    assert acquire(core, "b", limits=limits) == []
    acknowledge(core, "a", 5, 7, RELEASE)
    assert core.can_acquire(limits)
    assert acquire(core, "b", limits=limits) == [Acquired(5, 7, 2)]
    acknowledge(core, "a", 0, 4, ACCEPT)
    assert not core.can_acquire(limits)


def test_what_is_not_to_be_seen_is_passed_over() -> None:
    core = SharePartitionCore(0)
    aborted = [OffsetRange(0, 9), OffsetRange(15, 29)]
    assert acquire(core, ineligible=aborted) == [Acquired(10, 14, 1), Acquired(30, 39, 1)]
    assert core.start_offset == 10
    assert core.delivery_complete_count == 15
    acknowledge(core, "a", 10, 14, ACCEPT)
    assert core.start_offset == 30


def test_what_compaction_removed_is_done() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 15)
    acknowledge(core, "a", 0, 9, RELEASE)
    assert acquire(core, "b", log=[OffsetRange(5, 7), OffsetRange(20, 39)]) == [Acquired(5, 9, 2), Acquired(15, 39, 1)]
    assert core.start_offset == 5


def test_a_log_that_loses_its_head_takes_records_along() -> None:
    core = SharePartitionCore(0)
    acquire(core, "a", 15)
    under_way = core.acknowledge("a", [Acknowledgement(0, 9, [ACCEPT])], LIMITS, 0)
    core.on_log_start(6)
    assert (core.start_offset, core.delivery_complete_count) == (6, 4)
    core.commit(under_way)
    assert core.start_offset == 10
    acknowledge(core, "a", 0, 14, ACCEPT)
    acquire(core, "b", 15)
    core.on_log_start(200)
    assert (core.start_offset, core.end_offset, core.next_fetch_offset()) == (200, 200, 200)
    assert core.delivery_complete_count == 0


def test_what_was_persisted_is_recovered() -> None:
    core = SharePartitionCore(
        3,
        [
            StateBatch(3, 4, DeliveryState.ACKNOWLEDGED, 1),
            StateBatch(7, 8, DeliveryState.ACKNOWLEDGED, 1),
            StateBatch(11, 12, DeliveryState.AVAILABLE, 2),
            StateBatch(13, 13, DeliveryState.ARCHIVED, 5),
        ],
    )
    assert (core.start_offset, core.end_offset, core.delivery_complete_count) == (5, 14, 3)
    assert acquire(core, "a", 8, exact=True) == [
        Acquired(5, 6, 1),
        Acquired(9, 10, 1),
        Acquired(11, 12, 3),
        Acquired(14, 15, 1),
    ]


def test_records_that_share_a_fate_cost_one_span() -> None:
    core = SharePartitionCore(0)
    log = [OffsetRange(first, first + 9) for first in range(0, 20_000, 10)]
    limits = ShareLimits(record_locks_max=20_000)
    while acquire(core, "a", 500, log=log, limits=limits):
        pass
    assert core.end_offset == 20_000
    assert len(core.spans) == 1
    for first in range(0, 20_000, 2):
        acknowledge(core, "a", first, first, REJECT)
    assert len(core.spans) == 20_000 - 1
    for first in range(1, 20_000, 2):
        acknowledge(core, "a", first, first, REJECT)
    assert core.spans == []


def fragmented(size: int = 2_000) -> SharePartitionCore:
    """Every second record is held by one member, the others by another."""
    core = SharePartitionCore(0)
    log = [OffsetRange(0, size - 1)]
    limits = ShareLimits(record_locks_max=size)
    acquire(core, "a", size, log=log, limits=limits)
    for first in range(0, size, 2):
        acknowledge(core, "a", first, first, RELEASE, limits=limits)
    while acquire(core, "b", size, log=log, limits=limits):
        pass
    return core


def test_what_is_in_many_pieces_comes_back_bit_by_bit() -> None:
    core = fragmented()
    sizes = []
    while (transition := core.release("b", LIMITS)).batches:
        sizes.append(len(transition.batches))
        core.commit(transition)
    assert sum(sizes) == 1_000
    assert max(sizes) <= SPANS_MAX
    assert {span.member for span in core.spans} == {"a", None}


def test_locks_in_many_pieces_time_out_bit_by_bit() -> None:
    core = fragmented()
    expired = []
    while (deadline_ms := core.next_lock_deadline_ms()) is not None and deadline_ms <= 30_000:
        batches = core.expire(LIMITS, 30_000)
        assert len(batches) <= SPANS_MAX
        expired += batches
    assert sum(batch.last_offset - batch.first_offset + 1 for batch in expired) == 2_000
    assert all(span.is_available for span in core.spans)
