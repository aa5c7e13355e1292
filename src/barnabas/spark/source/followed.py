"""A stream that reads a flow of a pipeline: the topic it has begun with, up to where a switch has ended it.

A stream never goes over to another version's topic by itself. What the two versions have written by some moment need
not be the same rows, so rows would be missing or doubled. It reads its topic up to the switch and then ends with a
message that says where to go on.
"""

from collections.abc import Mapping

from barnabas.client.cluster import Cluster
from barnabas.model import TopicPartition
from barnabas.spark import pointer as pointers
from barnabas.spark.options.subscription import Pointed, Subscribe
from barnabas.spark.source.offsets import PartitionOffsets, StreamOffsets


class Followed:
    def __init__(self, pointed: Pointed) -> None:
        self._pointed = pointed
        self._pointer: pointers.Pointer | None = None
        self._version: int | None = None

    def begun_with(self, offsets: StreamOffsets) -> Subscribe | None:
        """The topic that the checkpoint is about."""
        topics = {place.topic for place in offsets.partitions}
        return Subscribe(tuple(topics)) if topics else None

    def readable(
        self, cluster: Cluster, start: Mapping[TopicPartition, int], latest: PartitionOffsets
    ) -> PartitionOffsets:
        """`latest`, or less where readers were sent on; UserError when all of that is read.

        Asked after `latest` was looked up: then nothing before it is of a time after a switch that is not seen here.
        """
        pointer = self._now(cluster)
        topic = next((place.topic for place in start), None)
        if topic is None or pointer.target(self._pointed.flow).topic == topic:
            return latest
        left = pointer.left_at(self._pointed.flow, topic)
        if left is None:
            left = pointers.Left(topic, "an earlier version", pointer.switched_ms, {})
        ends = {
            place: max(start.get(place, 0), min(end, left.ends.get(str(place.partition), 0)))
            for place, end in latest.items()
        }
        if all(start.get(place, 0) >= end for place, end in ends.items()):
            raise pointers.said(pointer, self._pointed.flow, left)
        return ends

    def _now(self, cluster: Cluster) -> pointers.Pointer:
        version = pointers.version(cluster)
        if self._pointer is None or version != self._version:
            self._pointer = pointers.get(cluster, self._pointed.pipeline)
            self._version = version
        return self._pointer
