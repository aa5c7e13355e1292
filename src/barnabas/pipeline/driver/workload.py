"""How much a run has to read. A run with little to read ends sooner with settings for short programs.

Of the 50 seconds of CPU that a run of four flows over eight records took, 25 went to Java's optimizing compiler and to
the code that Spark generates for queries, which only pay off in longer runs.
"""

from collections.abc import Iterable
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.model import TopicPartition
from barnabas.pipeline.project.model import Flow, Project
from barnabas.pipeline.replay.version_progress import reached_offsets

FEW: Final = 100_000
"""Records. At about 150,000 of them both settings take the same CPU."""


def is_small(cluster: Cluster, project: Project, flows: Iterable[Flow], version: str) -> bool:
    """Whether each flow has only a few records to read. Records that are no longer in the log do not count."""
    bounds = _bounds(cluster, {source.topic for source in project.sources.values()})
    return all(_unread(project, flow, version, bounds) <= FEW for flow in flows)


def _unread(project: Project, flow: Flow, version: str, bounds: dict[TopicPartition, tuple[int, int]]) -> int:
    topics = {source.topic for source in project.sources_of(flow.name)}
    done = reached_offsets(project.checkpoint(flow.name, version)) or {}
    return sum(
        max(0, end - max(start, done.get(place, 0))) for place, (start, end) in bounds.items() if place.topic in topics
    )


def _bounds(cluster: Cluster, topics: set[str]) -> dict[TopicPartition, tuple[int, int]]:
    places = [
        TopicPartition(name, partition.partition_index)
        for name, topic in cluster.topics(topics).items()
        for partition in topic.partitions
    ]
    starts, ends = cluster.offsets(places, EARLIEST), cluster.offsets(places, LATEST)
    return {place: (starts[place].offset, ends[place].offset) for place in places}
