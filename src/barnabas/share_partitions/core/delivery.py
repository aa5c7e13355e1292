"""The delivery state of each record of a share-partition: the core, without clock, log or event loop.

    AVAILABLE     can be delivered
    ACQUIRED      locked by a member, until it acknowledges, the lock times out or its session ends
    ACKNOWLEDGED  done: never delivered again
    ARCHIVED      done without success: rejected, delivered too often, deleted, or not visible to the group

    AVAILABLE --acquire--> ACQUIRED --accept--> ACKNOWLEDGED
                           ACQUIRED --reject, gap--> ARCHIVED
                           ACQUIRED --release, lock timeout, session end--> AVAILABLE, or ARCHIVED at the delivery limit
                           ACQUIRED --renew--> ACQUIRED, for another lock duration

An acknowledgement is a `Transition`: marked, then persisted, then committed or rolled back. Until then no other member
can acquire the records. The member is answered after that, so an accepted record is not delivered again after a crash.
A lock timeout does not wait for the write: if that is lost, the record is available after the crash as well.

Two places decide beyond this. `acquire` decides which records are eligible: ineligible ones (aborted, control records)
are archived at once. `_state_after` decides the state of a record once its delivery has been acknowledged. Dead
letters, time to live, delay and priority belong into these two.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from barnabas.model.share import DeliveryState, StateBatch
from barnabas.share_partitions.core.acquiring import Acquiring
from barnabas.share_partitions.core.terms import (
    ACCEPT,
    GAP,
    RELEASE,
    RENEW,
    THROTTLED_FROM_MIN,
    Acknowledgement,
    Acquired,
    OffsetRange,
    ShareLimits,
)
from barnabas.share_partitions.core.window import Span, Window
from barnabas.wire.errors import InvalidRecordState, InvalidRequest

AVAILABLE: Final = DeliveryState.AVAILABLE
ACQUIRED: Final = DeliveryState.ACQUIRED
ACKNOWLEDGED: Final = DeliveryState.ACKNOWLEDGED
ARCHIVED: Final = DeliveryState.ARCHIVED


DELIVERY_COUNT_MAX: Final = 2**15 - 1
"""The largest that can be stored. No limit is that high, but the state may come from another broker."""

SPANS_MAX: Final = 200
"""How many spans one call acquires, releases or expires: a few milliseconds of work. The caller calls again."""


@dataclass(slots=True, eq=False)
class Transition:
    """State changes that have to be persisted. No two transitions are equal."""

    batches: list[StateBatch]


class SharePartitionCore:
    def __init__(self, start_offset: int, persisted: Iterable[StateBatch] = ()) -> None:
        """From the persisted state. Offsets between its batches are available."""
        self._window = Window(start_offset)
        self._locks: list[tuple[int, int, int]] = []
        """A heap of (deadline, first, last). Entries may be out of date: the spans have the current deadlines."""
        self._delivery_complete = 0
        self._available_from = start_offset
        """No span before this offset is available."""
        for first, last, state, count in persisted:
            self._fill_to(max(first, self.end_offset), AVAILABLE)
            if last >= self.end_offset:
                self._add(Span(self.end_offset, last, DeliveryState(state), count))
        self._advance()

    @property
    def start_offset(self) -> int:
        return self._window.start_offset

    @property
    def end_offset(self) -> int:
        """The first offset that was never acquired."""
        return self._window.end_offset

    @property
    def delivery_complete_count(self) -> int:
        """How many records in flight are done, or will be when their transition is persisted."""
        return self._delivery_complete

    @property
    def spans(self) -> Sequence[Span]:
        return self._window.spans

    def next_lock_deadline_ms(self) -> int | None:
        """No lock times out before this time."""
        return self._locks[0][0] if self._locks else None

    # --- acquiring

    def next_fetch_offset(self) -> int:
        for span in self._window.from_offset(self._available_from):
            if span.is_available:
                self._available_from = max(span.first, self.start_offset)
                return self._available_from
        self._available_from = self.end_offset
        return self._available_from

    def can_acquire(self, limits: ShareLimits) -> bool:
        return self.next_fetch_offset() < self.end_offset or len(self._window) < limits.record_locks_max

    def acquire(
        self,
        member: str,
        data: Sequence[OffsetRange],
        *,
        fetch_offset: int,
        records_max: int,
        batch_size: int,
        exact: bool,
        ineligible: Sequence[OffsetRange] = (),
        limits: ShareLimits,
        now_ms: int,
    ) -> list[Acquired]:
        """Lock records for a member, from the batches that were read from `fetch_offset` on.

        `exact` takes at most `records_max`; otherwise the whole record batch that contains the limit is taken.
        """
        if not data or records_max <= 0 or data[-1].last < self.start_offset:
            return []
        last = data[-1].last
        free = limits.record_locks_max - len(self._window)
        records_left = min(records_max, free)
        if records_left <= 0:
            records_left = min(records_max, self.end_offset - fetch_offset)
            last = min(last, self.end_offset - 1)
            if records_left <= 0:
                return []
        if data[0].first > fetch_offset:
            self._archive_available(fetch_offset, data[0].first - 1)  # removed by compaction, or never written
            self._fill_to(data[0].first, ARCHIVED)
        for gone in ineligible:
            self._archive_available(gone.first, gone.last)
        acquiring = Acquiring(data, records_left, max(batch_size, 1), exact=exact)
        deadline_ms = now_ms + limits.lock_duration_ms
        went_through = self._acquire_again(acquiring, member, data[0].first, last, limits, deadline_ms)
        if went_through:
            self._acquire_new(acquiring, member, last, ineligible, deadline_ms)
        for taken in acquiring.taken:
            heapq.heappush(self._locks, (deadline_ms, taken.first, taken.last))
        self._advance()
        return acquiring.taken

    def _acquire_again(
        self, acquiring: Acquiring, member: str, first: int, last: int, limits: ShareLimits, deadline_ms: int
    ) -> bool:
        """Acquire released records. False: enough were found, or they must be delivered in a smaller batch."""
        position = max(first, self._available_from)
        while acquiring.records_left > 0:
            if len(acquiring.taken) >= SPANS_MAX:
                return False
            span = next((span for span in self._window.from_offset(position) if span.is_available), None)
            if span is None or span.first > last:
                return True
            begin, end = max(span.first, position), min(span.last, last)
            is_throttled = span.count >= limits.suspect_from
            if is_throttled:
                if acquiring.taken:
                    return False
                end = min(end, begin + self._batch_size_for_suspect(span, end - begin + 1, limits) - 1)
            end, count = acquiring.end_of(begin, end), min(span.count + 1, DELIVERY_COUNT_MAX)
            self._lock(begin, end, member, count, deadline_ms)
            acquiring.take(begin, end, count)
            if is_throttled:
                return False
            position = end + 1
        return True

    def _batch_size_for_suspect(self, span: Span, size: int, limits: ShareLimits) -> int:
        """How many suspected records are delivered together: half as many with every delivery, finally each alone."""
        if limits.delivery_count_limit > THROTTLED_FROM_MIN and span.count >= limits.delivery_count_limit - 1:
            return 1
        return max(1, size >> (span.count - limits.suspect_from + 1))

    def _acquire_new(
        self, acquiring: Acquiring, member: str, last: int, ineligible: Sequence[OffsetRange], deadline_ms: int
    ) -> None:
        """Acquire records after the window, up to the last one that was read."""
        for gone in (*ineligible, None):
            eligible_to = last if gone is None else min(gone.first - 1, last)
            first = self.end_offset
            if first <= eligible_to and acquiring.records_left > 0:
                end = acquiring.end_of(first, eligible_to)
                self._append(Span(first, end, AVAILABLE, 0))
                self._lock(first, end, member, 1, deadline_ms)
                acquiring.take(first, end, 1)
            if self.end_offset <= eligible_to:
                return
            if gone is not None and self.end_offset <= min(gone.last, last):
                self._fill_to(min(gone.last, last) + 1, ARCHIVED)

    def _lock(self, first: int, last: int, member: str, count: int, deadline_ms: int) -> None:
        for span in self._window.within(first, last):
            span.state, span.count, span.member, span.lock_deadline_ms = ACQUIRED, count, member, deadline_ms
        self._window.join(first, last)

    # --- acknowledging

    def acknowledge(
        self, member: str, acknowledgements: Iterable[Acknowledgement], limits: ShareLimits, now_ms: int
    ) -> Transition:
        """All or nothing: raises InvalidRecordState if a record is not acquired by this member."""
        runs = [run for batch in acknowledgements for run in self._checked(member, batch, limits)]
        transition = Transition([])
        for first, last, kind in runs:
            if kind == RENEW:
                self._renew(first, last, now_ms + limits.lock_duration_ms)
            else:
                self._begin(transition, self._window.within(first, last), kind, limits)
        return transition

    def _checked(self, member: str, batch: Acknowledgement, limits: ShareLimits) -> Iterator[tuple[int, int, int]]:
        if batch.last < self.start_offset:
            return  # deleted from the start of the log; the acknowledgement does not matter
        if batch.first >= self.end_offset or batch.last >= self.end_offset:
            raise InvalidRequest(f"offsets {batch.first} to {batch.last} were never delivered")
        for first, last, kind in batch.runs():
            first = max(first, self.start_offset)
            if first > last:
                continue
            if not GAP <= kind <= RENEW:
                raise InvalidRequest(f"there is no acknowledge type {kind}")
            if kind == RENEW and not limits.renew_enabled:
                raise InvalidRecordState("Renewing acquisition locks is not enabled for the group.")
            for span in self._window.overlapping(first, last):
                if span.state is not ACQUIRED:
                    raise InvalidRecordState(f"offsets {span.first} to {span.last} are not acquired")
                if span.pending is not None:
                    raise InvalidRecordState(f"offsets {span.first} to {span.last} are being acknowledged already")
                if span.member != member:
                    raise InvalidRecordState(f"offsets {span.first} to {span.last} are acquired by another member")
            yield first, last, kind

    def release(self, member: str, limits: ShareLimits) -> Transition:
        """Release records of a member that has left. An empty transition: it has none left."""
        transition = Transition([])
        held = (span for span in self._window.spans if span.member == member and span.pending is None)
        self._begin(transition, islice(held, SPANS_MAX), RELEASE, limits)
        return transition

    def expire(self, limits: ShareLimits, now_ms: int) -> list[StateBatch]:
        """Release records whose locks have timed out. They are available at once; returns the batches to persist.

        If there are too many for one call, the next deadline is in the past.
        """
        batches: list[StateBatch] = []
        while self._locks and self._locks[0][0] <= now_ms and len(batches) < SPANS_MAX:
            deadline_ms, first, last = heapq.heappop(self._locks)
            for span in self._window.overlapping(first, last):
                if len(batches) >= SPANS_MAX:
                    heapq.heappush(self._locks, (deadline_ms, span.first, last))
                    break
                if span.state is ACQUIRED and span.pending is None and span.lock_deadline_ms <= now_ms:
                    self._change(span, self._state_after(RELEASE, span.count, limits))
                    batches.append(StateBatch(span.first, span.last, span.state, span.count))
            self._window.join(first, last)
        self._advance()
        return batches

    def _state_after(self, kind: int, count: int, limits: ShareLimits) -> DeliveryState:
        """The state of a record once its delivery has been acknowledged."""
        if kind == ACCEPT:
            return ACKNOWLEDGED
        if kind == RELEASE and count < limits.delivery_count_limit:
            return AVAILABLE
        return ARCHIVED

    def _renew(self, first: int, last: int, deadline_ms: int) -> None:
        for span in self._window.within(first, last):
            span.lock_deadline_ms = deadline_ms
        heapq.heappush(self._locks, (deadline_ms, first, last))
        self._window.join(first, last)

    # --- transitions

    def _begin(self, transition: Transition, spans: Iterable[Span], kind: int, limits: ShareLimits) -> None:
        for span in spans:
            span.pending, span.target = transition, self._state_after(kind, span.count, limits)
            if span.target.is_final:
                self._delivery_complete += len(span)
            transition.batches.append(StateBatch(span.first, span.last, span.target, span.count))

    def commit(self, transition: Transition) -> None:
        """The transition is persisted."""
        for span in self._pending(transition):
            if span.target.is_final:
                self._delivery_complete -= len(span)
            span.pending = None
            self._change(span, span.target)
        self._settle(transition)
        self._advance()

    def roll_back(self, transition: Transition) -> None:
        """The transition could not be persisted: the member still holds the records, unless their locks timed out."""
        for span in self._pending(transition):
            if span.target.is_final:
                self._delivery_complete -= len(span)
            span.pending, span.target = None, span.state
            heapq.heappush(self._locks, (span.lock_deadline_ms, span.first, span.last))
        self._settle(transition)

    def _pending(self, transition: Transition) -> list[Span]:
        return [
            span
            for first, last, _, _ in transition.batches
            for span in self._window.overlapping(first, last)
            if span.pending is transition
        ]

    def _settle(self, transition: Transition) -> None:
        for first, last, _, _ in transition.batches:
            self._window.join(first, last)

    # --- the log

    def on_log_start(self, log_start_offset: int) -> None:
        """Records before it are deleted, acquired or not."""
        if log_start_offset <= self.start_offset:
            return
        if log_start_offset < self.end_offset:
            self._begin_at(log_start_offset)
        else:
            self._begin_at(self.end_offset)
            self._window = Window(log_start_offset)
            self._available_from = log_start_offset

    # --- counts

    def _append(self, span: Span) -> None:
        self._add(span)
        self._window.join(span.first, span.last)

    def _add(self, span: Span) -> None:
        self._window.append(span)
        if span.will_be_final:
            self._delivery_complete += len(span)
        elif span.is_available:
            self._available_from = min(self._available_from, span.first)

    def _fill_to(self, offset: int, state: DeliveryState) -> None:
        if offset > self.end_offset:
            self._append(Span(self.end_offset, offset - 1, state, 0))

    def _archive_available(self, first: int, last: int) -> None:
        if last < self.start_offset or first >= self.end_offset:
            return
        for span in self._window.within(first, last):
            if span.is_available:
                self._change(span, ARCHIVED)
        self._window.join(first, last)

    def _change(self, span: Span, state: DeliveryState) -> None:
        """Change to a state without a lock."""
        if state.is_final and not span.is_final:
            self._delivery_complete += len(span)
        span.state = span.target = state
        span.member, span.lock_deadline_ms = None, 0
        if span.is_available:
            self._available_from = min(self._available_from, span.first)

    def _advance(self) -> None:
        """Move the start offset to the first record that is not done."""
        start = self.start_offset
        for span in self._window.spans:
            if not span.is_final or span.pending is not None:
                break
            start = span.last + 1
        if start > self.start_offset:
            self._begin_at(start)

    def _begin_at(self, offset: int) -> None:
        self._window.within(offset, offset)
        for span in self._window.spans:
            if span.first >= offset:
                break
            if span.will_be_final:
                self._delivery_complete -= len(span)
        self._window.begin_at(offset)
        self._available_from = max(self._available_from, offset)
