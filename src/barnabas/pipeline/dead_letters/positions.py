"""The offset up to which dead letters were sent again, for each source of each version.

The position is written in the transaction that sends the records: to `barnabas.spark.metadata_topic`, which is
authoritative, and as the offset of a consumer group, for lag tools. Group offsets alone are not enough: they expire
after a week without a commit, and everything would be sent again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from barnabas.client.cluster import Cluster
from barnabas.client.transaction import GroupPosition
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.spark import metadata_topic

_KIND = "dead-letters"


@dataclass(frozen=True)
class Positions:
    project: str
    topic: str
    topic_id: str
    """A topic that was deleted and created again has other records at the same offsets."""
    known: Mapping[tuple[str, str, int], int]
    """The next offset by version, source and partition."""

    @classmethod
    def read(cls, cluster: Cluster, project: str, topic: str) -> "Positions":
        found = cluster.topics([topic]).get(topic)
        topic_id = str(found.topic_id) if found is not None else ""
        known: dict[tuple[str, str, int], int] = {}
        for key, value in metadata_topic.read(cluster).items():
            if not key.startswith(f"{_KIND}\t"):
                continue
            _, of_project, of_topic, version, source, partition = key.split("\t")
            note = json.loads(value)
            if (of_project, of_topic, note["topic_id"]) == (project, topic, topic_id):
                known[version, source, int(partition)] = note["next"]
        return cls(project, topic, topic_id, known)

    def next(self, version: str, source: str, partition: int) -> int:
        return self.known.get((version, source, partition), 0)

    def moved(self, writer: TransactionWriter, version: str, partition: int, ends: Mapping[str, int]) -> "Positions":
        """`ends` by source, as part of the writer's transaction."""
        written = []
        for source, offset in sorted(ends.items()):
            key = "\t".join((_KIND, self.project, self.topic, version, source, str(partition)))
            written.append((key, json.dumps({"next": offset, "topic_id": self.topic_id}).encode()))
            group = group_of(self.project, version, source)
            writer.commit_position(GroupPosition(group, self.topic, partition, offset, ""))
        metadata_topic.write(writer, written)
        more = {(version, source, partition): offset for source, offset in ends.items()}
        return replace(self, known={**self.known, **more})


def group_of(project: str, version: str, source: str) -> str:
    return f"barnabas.{project}.{version}.{source}.sent-again"
