"""Writes transaction markers to the partitions that this broker leads.

In __consumer_offsets the group coordinator writes the marker, and applies or drops the offsets that were committed in
the transaction.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from barnabas.coordinator.core.ports import EndMarker
from barnabas.env import Clock
from barnabas.model import OFFSETS_TOPIC, TopicPartition
from barnabas.replication.replicas import Replicas

if TYPE_CHECKING:
    from barnabas.coordinator.group_coordinator import GroupCoordinator
    from barnabas.metadata.image import ClusterImage


class LocalMarkers:
    def __init__(
        self,
        replicas: Replicas,
        clock: Clock,
        *,
        image: Callable[[], "ClusterImage"],
        groups: Callable[[], "GroupCoordinator"],
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._image = image
        self._groups = groups

    def write(self, partition: TopicPartition, marker: EndMarker) -> Awaitable[None] | None:
        if self._image().topics.partition(*partition) is None:
            return None  # the topic was deleted, and the transaction's records with it
        if partition.topic == OFFSETS_TOPIC:
            return self._groups().complete_transaction(partition.partition, marker)
        replica = self._replicas.get(*partition)
        appended = replica.append_marker(
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            commit=marker.commit,
            now_ms=self._clock.now_ms(),
            transaction_version=marker.transaction_version,
        )
        if replica.is_committed(appended.last_offset):
            return None
        return replica.wait_committed(appended.last_offset)
