"""All share-partitions that this broker leads, each created when a member first fetches from it."""

import uuid
from collections.abc import Callable

from barnabas.env import Clock
from barnabas.model.share import SharePartitionKey
from barnabas.replication.replicas import Replicas
from barnabas.share_partitions.core.rules import ShareRules
from barnabas.share_partitions.ports import StatePersister
from barnabas.share_partitions.share_partition import SharePartition


class SharePartitions:
    def __init__(
        self,
        replicas: Replicas,
        *,
        persister: StatePersister,
        clock: Clock,
        wait_clock: Clock,
        rules_of: Callable[[str], ShareRules],
    ) -> None:
        self._replicas = replicas
        self._persister = persister
        self._clock = clock
        self._wait_clock = wait_clock
        self.rules_of = rules_of
        self._partitions: dict[SharePartitionKey, SharePartition] = {}

    def __len__(self) -> int:
        return len(self._partitions)

    def get(self, group_id: str, topic_id: uuid.UUID, topic: str, index: int) -> SharePartition:
        """Raises KafkaError if this broker does not lead the partition."""
        key = SharePartitionKey(group_id, topic_id, index)
        partition = self._replicas.get(topic, index)
        partition.check_leader()
        known = self._partitions.get(key)
        if known is not None:
            if known.partition is partition and known.leader_epoch == partition.leader_epoch:
                return known
            known.fence()
        made = self._partitions[key] = SharePartition(
            key,
            partition,
            persister=self._persister,
            clock=self._clock,
            wait_clock=self._wait_clock,
            rules=lambda: self.rules_of(group_id),
            on_fenced=self._forget,
        )
        return made

    def find(self, group_id: str, topic_id: uuid.UUID, index: int) -> SharePartition | None:
        return self._partitions.get(SharePartitionKey(group_id, topic_id, index))

    def of_group(self, group_id: str) -> list[SharePartition]:
        return [partition for key, partition in self._partitions.items() if key.group_id == group_id]

    def _forget(self, partition: SharePartition) -> None:
        if self._partitions.get(partition.key) is partition:
            del self._partitions[partition.key]

    def forget_group(self, group_id: str) -> None:
        """The group has no members left: keep only the persisted state."""
        for partition in self.of_group(group_id):
            partition.fence()

    def on_topics_deleted(self, topic_ids: set[uuid.UUID]) -> None:
        for partition in [each for key, each in self._partitions.items() if key.topic_id in topic_ids]:
            partition.fence()

    async def close(self) -> None:
        for partition in list(self._partitions.values()):
            partition.fence()
            await partition.settle()
