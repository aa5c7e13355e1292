"""The offsets of a stream, as Spark keeps them in its write-ahead log: `{"orders": {"0": 42, "1": 7}}`.

Spark compares offsets as text, so the same offsets must always be the same text: topics are sorted by name, partitions
by number. The format is that of Spark's Kafka connector, so its checkpoints can be read here. Two keys are added; they
begin with "$", which no topic's name does:

- `$ids`: the id of each topic. A topic that was deleted and created again has the same name and other records; without
  its id, a query would continue in the middle of the new one without noticing.
- `$from`: where the first batch began; only the end of the first batch has it. If the first batch fails, Spark asks the
  source again where to begin, and "latest" is later then. The end of the batch is in Spark's log before the batch runs,
  so the start is written there with it.
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
    """By topic; empty if the broker has no topic ids, and in offsets of the JVM connector."""
    start: "StreamOffsets | None" = None
    """In the end of the first batch: its start."""

    def as_json(self) -> dict[str, Any]:
        """For Spark: sorted, so that equal offsets are equal text."""
        document: dict[str, Any] = as_json(self.partitions)
        known = {topic: self.ids[topic] for topic in document if topic in self.ids}
        if known:
            document[IDS] = known
        if self.start is not None:
            document[FROM] = self.start.as_json()
        return document

    def is_another_topic(self, topic: str, ids: Mapping[str, str]) -> bool:
        """Whether the topic with these ids is not the one that these offsets are about."""
        known, other = self.ids.get(topic), ids.get(topic)
        return known is not None and other is not None and known != other


def as_json(partitions: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    by_topic: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, {})[str(partition)] = partitions[TopicPartition(topic, partition)]
    return by_topic


def by_pair(partitions: Mapping[TopicPartition, int]) -> dict[tuple[str, int], int]:
    """With plain pairs as keys: equal in Python, but not for a type checker."""
    return dict(partitions.items())


def parse(document: Mapping[str, Any]) -> StreamOffsets:
    """Parses what Spark returns: written by us in this or an earlier run, or by the JVM connector."""
    try:
        partitions = {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, numbers in document.items()
            if not topic.startswith("$")
            for partition, offset in numbers.items()
        }
        ids = {str(topic): str(topic_id) for topic, topic_id in document.get(IDS, {}).items()}
        start = parse(document[FROM]) if FROM in document else None
    except (AttributeError, TypeError, ValueError):
        raise UserError(
            f"The checkpoint holds offsets that are not of this source: {str(document)[:300]}.",
            "use the checkpointLocation of this query, or a new one if the query reads other sources than before",
        ) from None
    return StreamOffsets(partitions, ids, start)
