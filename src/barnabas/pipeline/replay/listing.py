"""`barnabas pipeline versions`: which version readers see, how far each has read, and where it writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas.client.cluster import Cluster
from barnabas.model import TopicPartition
from barnabas.pipeline import status as statuses
from barnabas.pipeline.dead_letters.reading import committed_range
from barnabas.pipeline.log_client import connected
from barnabas.pipeline.project.model import Project
from barnabas.pipeline.replay.pointer_moves import target_of
from barnabas.pipeline.replay.version_progress import as_started, known_versions, reached_offsets
from barnabas.pipeline.status import Health
from barnabas.spark.pointer import Pointer, Target, find


@dataclass(frozen=True)
class FlowOfVersion:
    version: str
    flow: str
    target: Target | None
    """None: the output is a console."""
    is_current: bool
    """Whether readers see it."""
    health: Health | None
    """Of the version's driver."""
    lag: int | None
    """Records in its source topics that it has not read yet; None: it has not finished a batch."""


def versions(project: Project) -> Sequence[FlowOfVersion]:
    found: list[FlowOfVersion] = []
    with connected(project.log) as cluster:
        pointer = find(cluster, project.name)
        ends: dict[str, Mapping[int, int]] = {}
        for version in known_versions(project):
            then = as_started(project, version)
            status = statuses.read(project.state_folder(version))
            for flow in then.running_flows():
                offsets = reached_offsets(then.checkpoint(flow.name, version))
                target = target_of(flow, version)
                found.append(
                    FlowOfVersion(
                        version,
                        flow.name,
                        target,
                        _is_current(pointer, flow.name, target),
                        None if status is None else statuses.health(status),
                        None if offsets is None else _lag(cluster, offsets, ends),
                    )
                )
    return found


def _is_current(pointer: Pointer | None, flow: str, target: Target | None) -> bool:
    current = None if pointer is None else pointer.flows.get(flow)
    if current is None or target is None:
        return False
    return (current.topic, current.table) == (target.topic, target.table)


def _lag(cluster: Cluster, offsets: Mapping[TopicPartition, int], ends: dict[str, Mapping[int, int]]) -> int:
    for topic in {place.topic for place in offsets} - ends.keys():
        ends[topic] = committed_range(cluster, topic).ends
    topics = {place.topic for place in offsets}
    return sum(
        max(0, end - offsets.get(TopicPartition(topic, partition), 0))
        for topic in topics
        for partition, end in ends[topic].items()
    )
