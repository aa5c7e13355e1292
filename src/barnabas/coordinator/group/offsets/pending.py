"""Offsets committed in transactions that are still open, by the producers that committed them.

They become the group's offsets when the transaction is committed and are dropped when it is aborted. The last commit in
the log wins: a pending offset does not replace one that was committed later, outside of the transaction or in another
one. `order` is the position in the log.
"""

from collections.abc import Iterable, Iterator
from itertools import count

from barnabas.coordinator.group.offsets.stored import OffsetRecord


class _Pending:
    __slots__ = ("order", "record")

    def __init__(self, order: int, record: OffsetRecord) -> None:
        self.order = order
        self.record: OffsetRecord | None = record
        """None: a later commit has replaced it, and only the transaction still has to end."""


Place = tuple[str, int]
"""Topic and partition."""


class PendingOffsets:
    def __init__(self) -> None:
        self._order = count()
        self._by_group: dict[str, dict[Place, dict[int, _Pending]]] = {}
        """By group, partition and producer, without empty entries."""
        self._by_producer: dict[int, set[tuple[str, Place]]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_group)

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._by_group

    def snapshot(self) -> dict[tuple[str, Place, int], OffsetRecord | None]:
        """The whole state, for comparisons in tests."""
        return {
            (group_id, place, producer_id): pending.record
            for group_id, places in self._by_group.items()
            for place, by_producer in places.items()
            for producer_id, pending in by_producer.items()
        }

    def places(self, group_id: str) -> Iterable[Place]:
        return self._by_group.get(group_id, {}).keys()

    def groups(self) -> Iterable[str]:
        return self._by_group.keys()

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        return (topic, partition) in self._by_group.get(group_id, {})

    def put(self, producer_id: int, record: OffsetRecord) -> None:
        place = (record.topic, record.partition)
        by_producer = self._by_group.setdefault(record.group_id, {}).setdefault(place, {})
        by_producer[producer_id] = _Pending(next(self._order), record)
        self._by_producer.setdefault(producer_id, set()).add((record.group_id, place))

    def supersede(self, group_id: str, topic: str, partition: int) -> None:
        """An offset was committed outside of a transaction: it replaces the pending ones, which are older."""
        for pending in self._by_group.get(group_id, {}).get((topic, partition), {}).values():
            pending.record = None

    def forget(self, group_id: str, topic: str, partition: int) -> None:
        """The offset was deleted, and the pending ones with it."""
        place = (topic, partition)
        for producer_id in self._by_group.get(group_id, {}).get(place, {}):
            places = self._by_producer[producer_id]
            places.discard((group_id, place))
            if not places:
                del self._by_producer[producer_id]
        self._remove(group_id, place)

    def end(self, producer_id: int, *, commit: bool) -> Iterator[OffsetRecord]:
        """The transaction has ended. Returns the offsets that take effect."""
        committed = []
        for group_id, place in self._by_producer.pop(producer_id, ()):
            by_producer = self._by_group[group_id][place]
            pending = by_producer.pop(producer_id)
            if commit and pending.record is not None:
                committed.append(pending.record)
                for other in by_producer.values():
                    if other.order < pending.order:
                        other.record = None
            if not by_producer:
                self._remove(group_id, place)
        return iter(committed)

    def _remove(self, group_id: str, place: Place) -> None:
        places = self._by_group.get(group_id)
        if places is not None:
            places.pop(place, None)
            if not places:
                del self._by_group[group_id]
