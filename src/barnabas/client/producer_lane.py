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
    """Not acknowledged. invariant: the first `in_flight` of them are sent, unless `draining`."""
    in_flight: int = 0
    draining: bool = False
    """One has failed: wait for the answers that are due."""
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
    _undecided: bool = False
    """A batch of those that were sent since the lane was empty has failed for reasons that say nothing of others."""
    _passed: int | None = None
    """The sequence behind the last one that is acknowledged."""

    @property
    def unsent(self) -> int:
        return len(self.queue) - self.in_flight

    def add(self, pending: Pending, *, numbered: bool) -> None:
        if numbered:
            self._number(pending)
        self.queue.append(pending)

    def is_ready(self, now: float) -> bool:
        return (
            self.unsent > 0
            and not self.draining
            and self.in_flight < self._room
            and (self.in_flight > 0 or now >= self.not_before)
        )

    @property
    def _room(self) -> int:
        """How many may be unanswered: one, until the broker has shown to know us."""
        is_known = self._passed is not None or self.queue[0].base_sequence == NO_SEQUENCE
        return IN_FLIGHT_MAX if is_known else 1

    @property
    def next_size(self) -> int:
        return self.queue[self.in_flight].size

    def next(self) -> Pending:
        """The batch to send now."""
        pending = self.queue[self.in_flight]
        pending.doubted = False
        self._undecided = self._undecided and self.in_flight > 0
        self.in_flight += 1
        return pending

    def acknowledge(self, pending: Pending, base_offset: int) -> list[Pending]:
        """Take note that a batch is written; those that were in doubt and are proven to be written by that."""
        proven = [one for one in takewhile(lambda one: one is not pending, self.queue) if one.doubted]
        self._written(pending, base_offset)
        for one in proven:
            self._written(one, -1)
        self._answered()
        if pending.base_sequence != NO_SEQUENCE and not self.has_passed(pending):
            self._passed = pending.base_sequence + pending.record_count & SEQUENCE_MASK
        return proven

    def has_passed(self, pending: Pending) -> bool:
        """Whether a later batch is acknowledged: then this one is written, whatever is said of it."""
        if self._passed is None:
            return False
        return 0 < (self._passed - pending.base_sequence & SEQUENCE_MASK) <= SEQUENCE_MASK // 2

    @property
    def has_lost_its_place(self) -> bool:
        """All answers are there, the first batch was out of order, and none behind it failed for another reason."""
        return self.in_flight == 0 and bool(self.queue) and self.queue[0].doubted and not self._undecided

    def _written(self, pending: Pending, base_offset: int) -> None:
        self.queue.remove(pending)
        self.record_count += pending.record_count
        self.offsets_known = self.offsets_known and base_offset >= 0
        if base_offset >= 0:
            last_offset = base_offset + pending.record_count - 1
            self.first_offset = base_offset if self.first_offset is None else min(self.first_offset, base_offset)
            self.last_offset = last_offset if self.last_offset is None else max(self.last_offset, last_offset)

    def fail(self, failure: str, pause_s: float, *, doubted: Pending | None = None) -> None:
        """One has failed and will be sent again, with all that came after it; `doubted`: it was out of order."""
        if doubted is None:
            self._undecided = True
        else:
            doubted.doubted = True
        self.failure = failure
        self.not_before = time.monotonic() + pause_s
        self.draining = True
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

    def renumber(self) -> None:
        """For a new producer id, which begins with sequence 0."""
        self.next_sequence = 0
        self._passed = None
        for pending in self.queue:
            pending.doubted = False
            self._number(pending)

    def _number(self, pending: Pending) -> None:
        pending.base_sequence = self.next_sequence
        self.next_sequence = self.next_sequence + pending.record_count & SEQUENCE_MASK

    def _answered(self) -> None:
        self.in_flight -= 1
        if self.in_flight == 0:
            self.draining = False
