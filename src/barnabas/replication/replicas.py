"""All partitions this broker hosts, kept in step with the cluster's facts.

`apply` is the only way in: an image and its delta. Logs are opened on first touch; a partition whose directory belongs
to an older topic of the same name gets a fresh one (the log store compares topic ids).
"""

import uuid
from collections.abc import Callable, Iterator

from barnabas.env import Workers
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.metadata.configs.topic_settings import TopicSettings
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import TOPIC, ClusterImage, PartitionImage
from barnabas.model import TopicPartition
from barnabas.records.admission import AdmissionRules
from barnabas.records.compression import Codec
from barnabas.replication.partition import Partition
from barnabas.wire.errors import NotLeaderOrFollower, UnknownTopicOrPartition

# What a batch may decompress to before we call it a bomb: Kafka has no bound, its largest request has 100 MB.
DECOMPRESSED_BYTES_MAX = 256 * 1024 * 1024

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
    "producer": None,
}


class Replicas:
    def __init__(
        self,
        *,
        node_id: int,
        store: LogStore,
        workers: Workers,
        settings_of: Callable[[str], TopicSettings],
        producer_id_expiration_ms: Callable[[], int],
    ) -> None:
        self.store = store
        self._node_id = node_id
        self._workers = workers
        self._settings_of = settings_of
        self._producer_id_expiration_ms = producer_id_expiration_ms
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

    # --- the cluster's facts

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
        broker_changed = any(resource_type != TOPIC for resource_type, _ in delta.configs_changed)
        for (topic_name, _), partition in self._partitions.items():
            if broker_changed or topic_name in changed:
                self._configure(partition)

    def _host(self, topic_partition: TopicPartition, topic_id: uuid.UUID, image: PartitionImage) -> None:
        partition = self._partitions.get(topic_partition)
        if partition is not None:
            partition.lead(leader=image.leader, leader_epoch=image.leader_epoch)
            return
        settings = self._settings_of(topic_partition.topic)

        def open_log() -> PartitionLog:
            return self.store.open(topic_partition, topic_id, self._log_settings(topic_partition.topic))

        self._partitions[topic_partition] = Partition(
            topic_partition,
            node_id=self._node_id,
            open_log=open_log,
            workers=self._workers,
            leader=image.leader,
            leader_epoch=image.leader_epoch,
            admission_rules=admission_rules(settings),
        )

    def _drop(self, topic_partition: TopicPartition) -> None:
        partition = self._partitions.pop(topic_partition, None)
        if partition is not None:
            partition.wake_all(UnknownTopicOrPartition(f"{topic_partition} was deleted"))
        self.store.delete(topic_partition)

    def _configure(self, partition: Partition) -> None:
        topic = partition.topic_partition.topic
        partition.admission_rules = admission_rules(self._settings_of(topic))
        if partition.opened_log is not None:
            partition.opened_log.settings = self._log_settings(topic)

    def _log_settings(self, topic: str) -> LogSettings:
        settings = self._settings_of(topic)
        return LogSettings(
            producer_id_expiration_ms=self._producer_id_expiration_ms(),
            **{field: getattr(settings, field) for field in _SHARED_FIELDS},
        )


_SHARED_FIELDS = tuple(field for field in LogSettings.__slots__ if field in TopicSettings._fields)


def admission_rules(settings: TopicSettings) -> AdmissionRules:
    return AdmissionRules(
        max_message_bytes=settings.max_message_bytes,
        log_append_time=settings.message_timestamp_type == "LogAppendTime",
        timestamp_before_max_ms=settings.message_timestamp_before_max_ms,
        timestamp_after_max_ms=settings.message_timestamp_after_max_ms,
        compression=_CODECS[settings.compression_type],
        compression_level=settings.compression_level,
        requires_key=settings.compact,
        decompressed_bytes_max=DECOMPRESSED_BYTES_MAX,
    )
