"""Records that a broker has moved a replica to another of its log directories."""

import uuid

from barnabas.controller.decisions.decision import Decision
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.records import PartitionChangeRecord
from barnabas.model import TopicPartition


def decide_assign_directory(
    image: ClusterImage, topic_partition: TopicPartition, *, broker_id: int, directory_id: uuid.UUID
) -> Decision[None]:
    topic = image.topics.by_name.get(topic_partition.topic)
    partition = None if topic is None else topic.partitions.get(topic_partition.partition)
    if topic is None or partition is None or broker_id not in partition.replicas:
        return Decision((), None)  # it was deleted meanwhile, or moved to other brokers
    directories = tuple(
        directory_id if replica == broker_id else directory
        for replica, directory in zip(partition.replicas, partition.directories, strict=True)
    )
    if directories == partition.directories:
        return Decision((), None)
    change = PartitionChangeRecord(partition_id=topic_partition.partition, topic_id=topic.id, directories=directories)
    return Decision((change,), None)
