"""The offsets of a stream, as Spark keeps them in its write-ahead log: `{"orders": {"0": 42, "1": 7}}`.

Spark compares offsets as text, so the same offsets must always be the same text: topics are sorted by name, partitions
by number. The form is the one of Spark's Kafka connector, so its checkpoints can be read here. Two notes stand beside
the topics; their names begin with "$", which no topic's name does:

- `$ids`: the id of each topic. A topic that was deleted and made again has the same name and other records; without its
  id, a query would go on in the middle of the new one and never know.
- `$from`: where the first batch began; only the first batch's end has it. Spark asks a source again where to begin when
  the first batch has failed, and "latest" is later then. The end of the batch is in Spark's log before the batch runs,
  so the beginning is written there with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError

IDS = "$ids"
FROM = "$from"

PartitionOffsets = dict[TopicPartition, int]


@dataclass(frozen=True)
class StreamOffsets:
    """The next offset to read in each partition."""

    partitions: PartitionOffsets
    ids: dict[str, str] = field(default_factory=dict)
    """By topic; empty where the broker knows no ids, and in offsets that the JVM connector has written."""
    start: "StreamOffsets | None" = None
    """In the end of the first batch: its start."""

    def as_json(self) -> dict[str, Any]:
        """What Spark is given: sorted, so that equal offsets are equal text."""
        told: dict[str, Any] = as_json(self.partitions)
        known = {topic: self.ids[topic] for topic in told if topic in self.ids}
        if known:
            told[IDS] = known
        if self.start is not None:
            told[FROM] = self.start.as_json()
        return told

    def is_remade(self, topic: str, ids: Mapping[str, str]) -> bool:
        """Whether the topic with these ids is not the one that these offsets are about."""
        known, other = self.ids.get(topic), ids.get(topic)
        return known is not None and other is not None and known != other


def as_json(partitions: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(partitions):
        told.setdefault(topic, {})[str(partition)] = partitions[TopicPartition(topic, partition)]
    return told


def by_pair(partitions: Mapping[TopicPartition, int]) -> dict[tuple[str, int], int]:
    """For those who know partitions as plain pairs; a type checker sees a difference where Python does not."""
    return dict(partitions.items())


def parse(told: Mapping[str, Any]) -> StreamOffsets:
    """From what Spark hands back: written by us in this or an earlier run, or by the JVM connector."""
    try:
        partitions = {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, numbers in told.items()
            if not topic.startswith("$")
            for partition, offset in numbers.items()
        }
        ids = {str(topic): str(topic_id) for topic, topic_id in told.get(IDS, {}).items()}
        start = parse(told[FROM]) if FROM in told else None
    except (AttributeError, TypeError, ValueError):
        raise UserError(
            f"The checkpoint holds offsets that are not of this source: {str(told)[:300]}.",
            "use the checkpointLocation of this query, or a new one if the query reads other sources than before",
        ) from None
    return StreamOffsets(partitions, ids, start)
