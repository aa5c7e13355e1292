"""The batches on their way to one partition, in their order.

Rules, all of which keep order and let a broker recognise repetitions:

- batches are sent in order, and at most five are unanswered at a time: brokers remember five;
- when one has failed and may be repeated, nothing more is sent until all answers that are due have come; then
  everything that is not acknowledged is sent again, in order, with the sequences it had;
- a sequence that is out of order is a consequence where an earlier batch has just failed, and a loss where none has.
"""

import time
from collections import deque
from dataclasses import dataclass, field
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
            and self.in_flight < IN_FLIGHT_MAX
            and (self.in_flight > 0 or now >= self.not_before)
        )

    @property
    def next_size(self) -> int:
        return self.queue[self.in_flight].size

    def next(self) -> Pending:
        """The batch to send now."""
        pending = self.queue[self.in_flight]
        self.in_flight += 1
        return pending

    def acknowledge(self, pending: Pending, base_offset: int) -> None:
        self.queue.remove(pending)
        self._answered()
        self.record_count += pending.record_count
        self.offsets_known = self.offsets_known and base_offset >= 0
        if base_offset >= 0:
            last_offset = base_offset + pending.record_count - 1
            self.first_offset = base_offset if self.first_offset is None else min(self.first_offset, base_offset)
            self.last_offset = last_offset if self.last_offset is None else max(self.last_offset, last_offset)

    def fail(self, failure: str, pause_s: float) -> None:
        """One has failed and will be sent again, with all that came after it."""
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
        for pending in self.queue:
            self._number(pending)

    def _number(self, pending: Pending) -> None:
        pending.base_sequence = self.next_sequence
        self.next_sequence = self.next_sequence + pending.record_count & SEQUENCE_MASK

    def _answered(self) -> None:
        self.in_flight -= 1
        if self.in_flight == 0:
            self.draining = False
