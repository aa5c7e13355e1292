"""Deadlines as plain state, so that a core can have timeouts without a clock.

The core sets and cancels deadlines by key; the shell asks for the next one, waits, and passes due keys to the core.
Moving a deadline later costs one assignment: the heap keeps the early entry, and when that comes up, it is pushed again
with the current deadline. So heartbeats, which only move deadlines, cost almost nothing.
"""

import heapq
from collections.abc import Hashable
from itertools import count


class _Slot:
    __slots__ = ("deadline_ms", "entry")

    def __init__(self, deadline_ms: int, entry: int) -> None:
        self.deadline_ms = deadline_ms
        self.entry = entry
        """The number of the heap entry that is valid for this key; others are stale."""


class Timers:
    __slots__ = ("_entries", "_heap", "_slots")

    def __init__(self) -> None:
        self._slots: dict[Hashable, _Slot] = {}
        self._heap: list[tuple[int, int, Hashable]] = []
        self._entries = count()

    def __len__(self) -> int:
        return len(self._slots)

    def set(self, key: Hashable, deadline_ms: int) -> None:
        slot = self._slots.get(key)
        if slot is not None and deadline_ms >= slot.deadline_ms:
            slot.deadline_ms = deadline_ms
            return
        entry = next(self._entries)
        self._slots[key] = _Slot(deadline_ms, entry)
        heapq.heappush(self._heap, (deadline_ms, entry, key))

    def cancel(self, key: Hashable) -> None:
        self._slots.pop(key, None)

    def deadline_ms(self, key: Hashable) -> int | None:
        slot = self._slots.get(key)
        return None if slot is None else slot.deadline_ms

    def next_ms(self) -> int | None:
        """No deadline is due before this time."""
        heap = self._heap
        while heap:
            deadline_ms, entry, key = heap[0]
            slot = self._slots.get(key)
            if slot is not None and slot.entry == entry:
                return deadline_ms
            heapq.heappop(heap)
        return None

    def pop_due(self, now_ms: int) -> Hashable | None:
        """Removes the earliest deadline that is due and returns its key; None if none is due."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            _, entry, key = heap[0]
            slot = self._slots.get(key)
            if slot is None or slot.entry != entry:
                heapq.heappop(heap)
            elif slot.deadline_ms > now_ms:
                heapq.heapreplace(heap, (slot.deadline_ms, entry, key))
            else:
                heapq.heappop(heap)
                del self._slots[key]
                return key
        return None
