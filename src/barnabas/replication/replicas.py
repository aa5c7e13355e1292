"""All partitions this broker hosts, kept in sync with the cluster metadata.

They change only through `apply`, with an image and its delta. Logs are opened on first use; a partition whose directory
belongs to a deleted topic of the same name gets a new one (the log store compares topic ids).
"""

import logging
import uuid
from collections.abc import Callable, Iterator

from barnabas.env import Clock, Workers
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.metadata.configs.topic_settings import TopicSettings
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import BROKER, TOPIC, ClusterImage, PartitionImage
from barnabas.model import TopicPartition
from barnabas.replication.checkpoints import Checkpoints
from barnabas.replication.partition import Partition
from barnabas.replication.topic_rules import admission_rules
from barnabas.wire.errors import KafkaStorageError, NotLeaderOrFollower, UnknownTopicOrPartition

logger = logging.getLogger(__name__)


class Replicas:
    def __init__(
        self,
        *,
        node_id: int,
        store: LogStore,
        workers: Workers,
        clock: Clock,
        settings_of: Callable[[str], TopicSettings],
        log_settings_of: Callable[[TopicPartition], LogSettings],
    ) -> None:
        self.store = store
        self.checkpoints = Checkpoints(store, workers)
        self._node_id = node_id
        self._workers = workers
        self._clock = clock
        self._settings_of = settings_of
        self._log_settings_of = log_settings_of
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._image_topics: dict[str, set[int]] = {}

    def get(self, topic: str, index: int) -> Partition:
        partition = self._partitions.get((topic, index))
        if partition is not None:
            return partition
        if index in self._image_topics.get(topic, ()):
            raise NotLeaderOrFollower(f"{topic}-{index} is not on this broker")
        raise UnknownTopicOrPartition(f"there is no partition {topic}-{index}")

    def __iter__(self) -> Iterator[Partition]:
        return iter(list(self._partitions.values()))

    def __len__(self) -> int:
        return len(self._partitions)

    # --- cluster metadata

    def apply(self, image: ClusterImage, delta: Delta) -> None:
        for topic in delta.topics_deleted.values():
            self._image_topics.pop(topic.name, None)
            for index in topic.partitions:
                self._drop(TopicPartition(topic.name, index))
        for topic_partition, change in delta.partitions_changed.items():
            self._image_topics.setdefault(topic_partition.topic, set()).add(topic_partition.partition)
            if self._node_id in change.after.replicas:
                self._host(topic_partition, change.topic_id, change.after)
            else:
                self._drop(topic_partition)
        changed = {name for resource_type, name in delta.configs_changed if resource_type == TOPIC}
        broker_changed = any(resource_type == BROKER for resource_type, _ in delta.configs_changed)
        for (topic_name, _), partition in self._partitions.items():
            if broker_changed or topic_name in changed:
                self._configure(partition)

    def _host(self, topic_partition: TopicPartition, topic_id: uuid.UUID, image: PartitionImage) -> None:
        partition = self._partitions.get(topic_partition)
        if partition is not None:
            partition.lead(leader=image.leader, leader_epoch=image.leader_epoch)
            return

        def open_log() -> PartitionLog:
            if topic_partition in self.store and self.store.topic_id_of(topic_partition) not in (topic_id, None):
                # A deleted topic of the same name left it behind, because a crash interrupted the deletion.
                self.store.delete(topic_partition)
            return self.store.create(topic_partition, topic_id)

        self._partitions[topic_partition] = Partition(
            topic_partition,
            node_id=self._node_id,
            open_log=open_log,
            clock=self._clock,
            workers=self._workers,
            leader=image.leader,
            leader_epoch=image.leader_epoch,
            admission_rules=admission_rules(self._settings_of(topic_partition.topic)),
        )

    def _drop(self, topic_partition: TopicPartition) -> None:
        partition = self._partitions.pop(topic_partition, None)
        if partition is not None:
            partition.discard()
        try:
            self.store.delete(topic_partition)
        except KafkaStorageError as error:
            # The topic is deleted all the same. Its files on the failed disk are found by their topic id later.
            logger.warning("%s is deleted; its files are removed when the disk is back: %s", topic_partition, error)

    def _configure(self, partition: Partition) -> None:
        partition.set_admission_rules(admission_rules(self._settings_of(partition.topic_partition.topic)))
        if partition.opened_log is not None:
            partition.opened_log.settings = self._log_settings_of(partition.topic_partition)
