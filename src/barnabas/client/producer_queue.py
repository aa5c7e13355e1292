"""The unacknowledged batches of one partition, in order.

These rules keep the order, and let a broker recognise retries:

- Batches are sent in order, and at most five are in flight: brokers remember five.
- The first batch is sent alone. A broker accepts any first sequence of a producer that it does not know, so if the
  first batch failed and the second did not, the first could never be written.
- When a batch fails and can be retried, nothing more is sent until all responses are in. Then everything that is not
  acknowledged is sent again, in order, with the same sequences.
- A batch that is refused as out of order is in doubt. If an earlier batch has failed, that is why. If a later batch is
  accepted, this one is written already: brokers accept no batch with a gap before it, but after a restart they remember
  only the last batch of a producer. Otherwise the broker has lost its state of this producer.
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
class PendingBatch:
    """A batch that is not acknowledged yet."""

    batch: memoryview
    record_count: int
    deadline: float
    base_sequence: int = NO_SEQUENCE
    attempted: bool = False
    """It was sent at least once."""
    doubted: bool = False
    """The last attempt was refused as out of order."""

    @property
    def size(self) -> int:
        return len(self.batch)


@dataclass(eq=False)
class PartitionQueue:
    topic: str
    partition: int
    batches: deque[PendingBatch] = field(default_factory=deque)
    """Not acknowledged, in order."""
    in_flight: int = 0
    """Batches without a response. invariant: in_flight <= _sent <= len(batches)"""
    draining: bool = False
    """A batch has failed: wait for all responses, then start again with the first batch."""
    lost_its_place: bool = False
    """The first batch is out of order, and so is every later one that was sent."""
    announced: bool = False
    """`before_first_batch` was called for this partition."""
    next_sequence: int = 0
    not_before: float = 0.0
    failure: str = ""
    """Why the last attempt failed."""
    first_offset: int | None = None
    last_offset: int | None = None
    record_count: int = 0
    """Acknowledged records."""
    offsets_known: bool = True
    """False if a broker has acknowledged a retry without its offset."""
    _sent: int = 0
    """How many batches from the front were sent since the last start with the first."""
    _doubts: bool = False
    """Some of these are in doubt. Then only batches that were sent before are sent: they may prove those written."""
    _passed: int | None = None
    """The sequence after the last acknowledged batch."""

    def add(self, pending: PendingBatch, *, numbered: bool) -> None:
        if numbered:
            self._number(pending)
        self.batches.append(pending)

    def is_ready(self, now: float) -> bool:
        return (
            self._has_more
            and not self.draining
            and self.in_flight < self._room
            and (self._sent > 0 or now >= self.not_before)
        )

    @property
    def _has_more(self) -> bool:
        return self._sent < len(self.batches) and (not self._doubts or self.batches[self._sent].attempted)

    @property
    def _room(self) -> int:
        """How many batches may be in flight: one, until the broker has accepted a first one."""
        is_known = self._passed is not None or self.batches[0].base_sequence == NO_SEQUENCE
        return IN_FLIGHT_MAX if is_known else 1

    @property
    def next_size(self) -> int:
        return self.batches[self._sent].size

    def next(self) -> PendingBatch:
        """The next batch to send."""
        pending = self.batches[self._sent]
        pending.attempted, pending.doubted = True, False
        self._sent += 1
        self.in_flight += 1
        return pending

    def acknowledge(self, pending: PendingBatch, base_offset: int) -> list[PendingBatch]:
        """Remove a written batch; returns those that were in doubt and are now known to be written too."""
        proven = [one for one in takewhile(lambda one: one is not pending, self.batches) if one.doubted]
        self._written(pending, base_offset)
        for one in proven:
            self._written(one, -1)
        if pending.base_sequence != NO_SEQUENCE and not self.has_passed(pending):
            self._passed = pending.base_sequence + pending.record_count & SEQUENCE_MASK
        self._doubts = any(one.doubted for one in self.batches)
        self._answered()
        return proven

    def has_passed(self, pending: PendingBatch) -> bool:
        """Whether a later batch is acknowledged: then this one is written, whatever its response says."""
        if self._passed is None:
            return False
        return 0 < (self._passed - pending.base_sequence & SEQUENCE_MASK) <= SEQUENCE_MASK // 2

    def _written(self, pending: PendingBatch, base_offset: int) -> None:
        self.batches.remove(pending)
        self._sent -= 1
        self.record_count += pending.record_count
        self.offsets_known = self.offsets_known and base_offset >= 0
        if base_offset >= 0:
            last_offset = base_offset + pending.record_count - 1
            self.first_offset = base_offset if self.first_offset is None else min(self.first_offset, base_offset)
            self.last_offset = last_offset if self.last_offset is None else max(self.last_offset, last_offset)

    def fail(self, failure: str, pause_s: float, *, doubted: PendingBatch | None = None) -> None:
        """A batch has failed and will be sent again, with all after it; `doubted`: it was out of order."""
        self.failure = failure
        self.not_before = time.monotonic() + pause_s
        if doubted is None:
            self.draining = True
        else:
            doubted.doubted = self._doubts = True
        self._answered()

    def replace(self, pending: PendingBatch, parts: list[PendingBatch]) -> None:
        """Replace a batch that was too large by its parts, which share its sequences."""
        place = self.batches.index(pending)
        sequence = pending.base_sequence
        for part in parts:
            if sequence != NO_SEQUENCE:
                part.base_sequence = sequence
                sequence = sequence + part.record_count & SEQUENCE_MASK
        del self.batches[place]
        for part in reversed(parts):
            self.batches.insert(place, part)
        self._sent += len(parts) - 1

    def renumber(self) -> None:
        """Start with sequence 0 for a new producer id. Nothing may be in flight."""
        self.next_sequence = 0
        self._passed = None
        self._start_again()
        for pending in self.batches:
            pending.attempted = pending.doubted = False
            self._number(pending)

    def _number(self, pending: PendingBatch) -> None:
        pending.base_sequence = self.next_sequence
        self.next_sequence = self.next_sequence + pending.record_count & SEQUENCE_MASK

    def _answered(self) -> None:
        self.in_flight -= 1
        if self.in_flight == 0 and (self.draining or (self._doubts and not self._has_more)):
            is_lost = not self.draining and self.batches[0].doubted
            self._start_again()
            self.lost_its_place = is_lost

    def _start_again(self) -> None:
        self._sent = 0
        self.draining = self._doubts = self.lost_its_place = False
