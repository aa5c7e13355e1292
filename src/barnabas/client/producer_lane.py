"""The batches on their way to one partition, in their order.

Rules, all of which keep order and let a broker recognise repetitions:

- batches are sent in order, and at most five are unanswered at a time: brokers remember five;
- the first one goes alone. A broker that does not know a producer lets it begin with any sequence, so if the first
  failed and the second did not, the first could never be written;
- when one has failed and may be repeated, nothing more is sent until all answers that are due have come; then
  everything that is not acknowledged is sent again, in order, with the sequences it had;
- a sequence that is refused as out of order leaves a doubt. Where an earlier batch has failed, it is a consequence of
  that. Where a later one is taken, it is written already: brokers take no batch without those before it, but one that
  was started again remembers only the last batch of a producer. Otherwise the broker has lost what it knew of us.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from barnabas.client.producer_settings import IN_FLIGHT_MAX
from barnabas.records.batch import NO_SEQUENCE

SEQUENCE_MASK: Final = 0x7FFFFFFF
"""Sequences count to 2^31-1 and go on with 0."""


@dataclass(eq=False)
class Pending:
    """A batch that is not acknowledged yet."""

    batch: memoryview
    record_count: int
    deadline: float
    base_sequence: int = NO_SEQUENCE
    attempted: bool = False
    """It was sent before."""
    doubted: bool = False
    """It was refused as out of order when it was sent last."""

    @property
    def size(self) -> int:
        return len(self.batch)


@dataclass(eq=False)
class Lane:
    topic: str
    partition: int
    queue: deque[Pending] = field(default_factory=deque)
    """Not acknowledged, in order."""
    in_flight: int = 0
    """Unanswered. invariant: in_flight <= _sent <= len(queue)"""
    draining: bool = False
    """One has failed: wait for the answers that are due, and then begin again with the first."""
    lost_its_place: bool = False
    """The first batch is out of order, and so are all behind it that were ever sent."""
    announced: bool = False
    """Whoever wants to know of a partition before its first batch does."""
    next_sequence: int = 0
    not_before: float = 0.0
    failure: str = ""
    """Why the last attempt failed, in words for a person."""
    first_offset: int | None = None
    last_offset: int | None = None
    record_count: int = 0
    """Of all that is acknowledged."""
    offsets_known: bool = True
    """A broker that has a batch already, from long ago, does not say where."""
    _sent: int = 0
    """So many from the front of the queue have been sent since it was begun with the first."""
    _doubts: bool = False
    """There are doubted ones among these. Only what was sent before is sent now: it may prove that they are written."""
    _passed: int | None = None
    """The sequence behind the last one that is acknowledged."""

    def add(self, pending: Pending, *, numbered: bool) -> None:
        if numbered:
            self._number(pending)
        self.queue.append(pending)

    def is_ready(self, now: float) -> bool:
        return (
            self._has_more
            and not self.draining
            and self.in_flight < self._room
            and (self._sent > 0 or now >= self.not_before)
        )

    @property
    def _has_more(self) -> bool:
        return self._sent < len(self.queue) and (not self._doubts or self.queue[self._sent].attempted)

    @property
    def _room(self) -> int:
        """How many may be unanswered: one, until the broker has shown to know us."""
        is_known = self._passed is not None or self.queue[0].base_sequence == NO_SEQUENCE
        return IN_FLIGHT_MAX if is_known else 1

    @property
    def next_size(self) -> int:
        return self.queue[self._sent].size

    def next(self) -> Pending:
        """The batch to send now."""
        pending = self.queue[self._sent]
        pending.attempted, pending.doubted = True, False
        self._sent += 1
        self.in_flight += 1
        return pending

    def acknowledge(self, pending: Pending, base_offset: int) -> list[Pending]:
        """Take note that a batch is written; those that were in doubt and are proven to be written by that."""
        proven = [one for one in takewhile(lambda one: one is not pending, self.queue) if one.doubted]
        self._written(pending, base_offset)
        for one in proven:
            self._written(one, -1)
        if pending.base_sequence != NO_SEQUENCE and not self.has_passed(pending):
            self._passed = pending.base_sequence + pending.record_count & SEQUENCE_MASK
        self._doubts = any(one.doubted for one in self.queue)
        self._answered()
        return proven

    def has_passed(self, pending: Pending) -> bool:
        """Whether a later batch is acknowledged: then this one is written, whatever is said of it."""
        if self._passed is None:
            return False
        return 0 < (self._passed - pending.base_sequence & SEQUENCE_MASK) <= SEQUENCE_MASK // 2

    def _written(self, pending: Pending, base_offset: int) -> None:
        self.queue.remove(pending)
        self._sent -= 1
        self.record_count += pending.record_count
        self.offsets_known = self.offsets_known and base_offset >= 0
        if base_offset >= 0:
            last_offset = base_offset + pending.record_count - 1
            self.first_offset = base_offset if self.first_offset is None else min(self.first_offset, base_offset)
            self.last_offset = last_offset if self.last_offset is None else max(self.last_offset, last_offset)

    def fail(self, failure: str, pause_s: float, *, doubted: Pending | None = None) -> None:
        """One has failed and will be sent again, with all that came after it; `doubted`: it was out of order."""
        self.failure = failure
        self.not_before = time.monotonic() + pause_s
        if doubted is None:
            self.draining = True
        else:
            doubted.doubted = self._doubts = True
        self._answered()

    def replace(self, pending: Pending, parts: list[Pending]) -> None:
        """A batch that was too large, by its parts, which share its sequences."""
        place = self.queue.index(pending)
        sequence = pending.base_sequence
        for part in parts:
            if sequence != NO_SEQUENCE:
                part.base_sequence = sequence
                sequence = sequence + part.record_count & SEQUENCE_MASK
        del self.queue[place]
        for part in reversed(parts):
            self.queue.insert(place, part)
        self._sent += len(parts) - 1

    def renumber(self) -> None:
        """For a new producer id, which begins with sequence 0. Nothing may be in flight."""
        self.next_sequence = 0
        self._passed = None
        self._begin_again()
        for pending in self.queue:
            pending.attempted = pending.doubted = False
            self._number(pending)

    def _number(self, pending: Pending) -> None:
        pending.base_sequence = self.next_sequence
        self.next_sequence = self.next_sequence + pending.record_count & SEQUENCE_MASK

    def _answered(self) -> None:
        self.in_flight -= 1
        if self.in_flight == 0 and (self.draining or (self._doubts and not self._has_more)):
            is_lost = not self.draining and self.queue[0].doubted
            self._begin_again()
            self.lost_its_place = is_lost

    def _begin_again(self) -> None:
        self._sent = 0
        self.draining = self._doubts = self.lost_its_place = False
