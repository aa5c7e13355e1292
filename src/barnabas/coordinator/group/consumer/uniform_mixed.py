"""`uniform` for members that subscribe to different topics.

1. Every member keeps its partitions of topics that it still subscribes to.
2. Topic by topic, unassigned partitions go to the subscriber with the fewest; first the topics with the most partitions
   per subscriber, which are the hardest to spread.
3. Topic by topic, partitions move from the subscriber with the most to the one with the least, until the two
   differ by one at most. One topic's moves may unbalance another's, so this is repeated, up to `ROUNDS_MAX` times.
"""

import heapq
import uuid
from collections.abc import Mapping

from barnabas.coordinator.group.common.assignor import GroupSpec
from barnabas.coordinator.group.common.partitions import Partitions

ROUNDS_MAX = 16
_NOBODY = -1


def assign_mixed(spec: GroupSpec) -> Mapping[str, Partitions]:
    board = _Board(spec)
    for topic_id in board.topic_order:
        board.assign(topic_id)
    board.balance()
    return board.result()


class _Board:
    """The owner of each partition, by member index, and the number of partitions of each member."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._member_ids = list(spec.members)
        self._sizes = [0] * len(self._member_ids)
        self._subscribers: dict[uuid.UUID, list[int]] = {}
        for position, member in enumerate(spec.members.values()):
            for topic_id in member.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(position)
        self._owners = {topic_id: [_NOBODY] * spec.partition_counts[topic_id] for topic_id in self._subscribers}
        for position, member in enumerate(spec.members.values()):
            for topic_id, partitions in member.target.items():
                if topic_id in member.topic_ids:
                    self._sizes[position] += len(partitions)
                    owners = self._owners[topic_id]
                    for partition in partitions:
                        owners[partition] = position
        self.topic_order = sorted(self._subscribers, key=self._sort_key)

    def _sort_key(self, topic_id: uuid.UUID) -> tuple[float, int, int]:
        subscribers = len(self._subscribers[topic_id])
        return -self._spec.partition_counts[topic_id] / subscribers, subscribers, topic_id.int

    def assign(self, topic_id: uuid.UUID) -> None:
        owners = self._owners[topic_id]
        free = [partition for partition, owner in enumerate(owners) if owner == _NOBODY]
        if not free:
            return
        least = self._by_load(topic_id)
        for partition in free:
            size, rank, position = least[0]
            owners[partition] = position
            self._sizes[position] = size + 1
            heapq.heapreplace(least, (size + 1, rank, position))

    def balance(self) -> None:
        shared = [topic_id for topic_id in self.topic_order if len(self._subscribers[topic_id]) > 1]
        unchanged = 0
        for _ in range(ROUNDS_MAX):
            for topic_id in shared:
                unchanged = 0 if self._balance_topic(topic_id) else unchanged + 1
                if unchanged >= len(shared):
                    return

    def _balance_topic(self, topic_id: uuid.UUID) -> bool:
        least = self._by_load(topic_id)
        if max(size for size, _, _ in least) - least[0][0] <= 1:
            return False
        owners = self._owners[topic_id]
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(owners):
            owned.setdefault(owner, []).append(partition)
        most = [(-size, -rank, position) for size, rank, position in least if position in owned]
        heapq.heapify(most)
        moved = False
        while most:
            negative_size, negative_rank, giver = most[0]
            size, rank, taker = least[0]
            if -negative_size - size <= 1:
                break
            owners[owned[giver].pop()] = taker
            moved = True
            self._sizes[taker] = size + 1
            self._sizes[giver] = -negative_size - 1
            # Givers always have more than takers, so no member is in both heaps.
            heapq.heapreplace(least, (size + 1, rank, taker))
            if owned[giver]:
                heapq.heapreplace(most, (negative_size + 1, negative_rank, giver))
            else:
                heapq.heappop(most)
        return moved

    def _by_load(self, topic_id: uuid.UUID) -> list[tuple[int, int, int]]:
        """A heap of subscribers by number of partitions; ties keep the original order."""
        ordered = sorted((self._sizes[position], position) for position in self._subscribers[topic_id])
        return [(size, rank, position) for rank, (size, position) in enumerate(ordered)]

    def result(self) -> Mapping[str, Partitions]:
        shares: list[dict[uuid.UUID, set[int]]] = [{} for _ in self._member_ids]
        for topic_id, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                shares[owner].setdefault(topic_id, set()).add(partition)
        return {
            member_id: {topic_id: frozenset(partitions) for topic_id, partitions in share.items()}
            for member_id, share in zip(self._member_ids, shares, strict=True)
        }
