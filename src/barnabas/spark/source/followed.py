"""For a stream that reads a flow of a pipeline: it reads the topic that it began with, up to a switch.

A stream never continues in the topic of another version by itself. The two versions may have written different rows by
then, so rows would be missing or duplicated. It reads its topic up to the switch, then ends with a message that says
where to continue.
"""

from collections.abc import Mapping

from barnabas.client.cluster import Cluster
from barnabas.model import TopicPartition
from barnabas.spark import pointer as pointers
from barnabas.spark.options.subscription import PipelineFlow, Subscribe
from barnabas.spark.source.offsets import PartitionOffsets, StreamOffsets


class Followed:
    def __init__(self, flow: PipelineFlow) -> None:
        self._flow = flow
        self._pointer: pointers.Pointer | None = None
        self._version: int | None = None

    def begun_with(self, offsets: StreamOffsets) -> Subscribe | None:
        """The topic in the checkpoint."""
        topics = {place.topic for place in offsets.partitions}
        return Subscribe(tuple(topics)) if topics else None

    def readable(
        self, cluster: Cluster, start: Mapping[TopicPartition, int], latest: PartitionOffsets
    ) -> PartitionOffsets:
        """`latest`, or less if the pointer was moved away; UserError when everything up to there is read.

        Call it after `latest` was looked up: then records before it are older than any switch that is not seen here.
        """
        pointer = self._now(cluster)
        topic = next((place.topic for place in start), None)
        if topic is None or pointer.target(self._flow.flow).topic == topic:
            return latest
        left = pointer.former_topic(self._flow.flow, topic)
        if left is None:
            left = pointers.FormerTopic(topic, "an earlier version", pointer.switched_ms, {})
        ends = {
            place: max(start.get(place, 0), min(end, left.ends.get(str(place.partition), 0)))
            for place, end in latest.items()
        }
        if all(start.get(place, 0) >= end for place, end in ends.items()):
            raise pointers.switched_error(pointer, self._flow.flow, left)
        return ends

    def _now(self, cluster: Cluster) -> pointers.Pointer:
        version = pointers.version(cluster)
        if self._pointer is None or version != self._version:
            self._pointer = pointers.get(cluster, self._flow.pipeline)
            self._version = version
        return self._pointer
