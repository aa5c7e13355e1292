"""`barnabas pipeline switch`: readers see another version, once that has read all that the one before it has."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.group_offsets import fetch_offsets
from barnabas.model import TopicPartition
from barnabas.pipeline import status as statuses
from barnabas.pipeline.driver.outputs import group_of
from barnabas.pipeline.log_client import connected
from barnabas.pipeline.project.model import Flow, Project
from barnabas.pipeline.replay.pointing import Move, move
from barnabas.pipeline.replay.standing import as_started, behind, reached, started
from barnabas.pipeline.status import Health
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest
from barnabas.spark.pointer import find
from barnabas.spark.source.offsets import PartitionOffsets

WAIT_S: Final = 30.0
"""For a version that runs and is a moment behind: the two take turns at the end of the log."""
_LOOK_AGAIN_S: Final = 0.2


def switch(
    project: Project,
    *,
    version: str,
    flow: str | None = None,
    anyway: bool = False,
    wait_s: float = WAIT_S,
    say: Callable[[str], None] = print,
) -> list[Move]:
    """What has changed; UserError if the version is not as far as the one that readers see now, unless `anyway`."""
    new = as_started(project, version)
    flows = _chosen(new, flow)
    with connected(project.log) as cluster:
        _check_outputs(new, flows, version)
        if not anyway:
            for each in flows:
                _check_reach(cluster, project, new, each, version, wait_s, say)
        return move(cluster, new, version, flows)


def _chosen(project: Project, flow: str | None) -> Sequence[Flow]:
    flows = {each.name: each for each in project.running_flows()}
    if flow is None:
        return list(flows.values())
    if flow not in flows:
        meant = nearest(flow, flows)
        raise UserError(
            f"there is no flow `{flow}` with an output",
            f"did you mean `{meant}`?" if meant else f"there are {', '.join(flows)}",
        )
    return [flows[flow]]


def _check_outputs(project: Project, flows: Sequence[Flow], version: str) -> None:
    """A pointer to what is not there would send readers into the void."""
    for flow in flows:
        if reached(project.checkpoint(flow.name, version)) is None:
            raise UserError(
                f"flow `{flow.name}` of {version} has not finished anything yet",
                f"let it run first: barnabas pipeline replay --as {version}",
            )


def _check_reach(
    cluster: Cluster,
    project: Project,
    new: Project,
    flow: Flow,
    version: str,
    wait_s: float,
    say: Callable[[str], None],
) -> None:
    pointer = find(cluster, project.name)
    current = None if pointer is None else pointer.flows.get(flow.name)
    if current is None or current.version == version:
        return
    goal = _goal(cluster, project, flow.name, current.version)
    deadline = time.monotonic() + wait_s
    told = False
    while True:
        missing = behind(reached(new.checkpoint(flow.name, version)) or {}, goal)
        if missing == 0:
            return
        if not _runs(new, version) or time.monotonic() > deadline:
            raise UserError(
                f"flow `{flow.name}` of {version} has {missing:,} records to read that {current.version} has read",
                _next_step(new, version),
            )
        if not told:
            say(f"{flow.name}: {version} is {missing:,} records behind {current.version}; waiting for it")
            told = True
        time.sleep(_LOOK_AGAIN_S)


def _goal(cluster: Cluster, project: Project, flow: str, version: str) -> PartitionOffsets:
    """How far the version has come that readers see. If it runs elsewhere, its consumer group says it."""
    if started(project, version):
        return reached(project.checkpoint(flow, version)) or {}
    group = group_of(project, version, flow)
    committed = fetch_offsets(cluster, group, None)
    if not committed:
        raise UserError(
            f"how far {version}, which readers see, has come cannot be told: it has no checkpoints here, and its group "
            f"{group} no offsets",
            "switch on the machine on which it runs, or all the same: --anyway",
        )
    return {TopicPartition(*place): found.offset for place, found in committed.items()}


def _runs(project: Project, version: str) -> bool:
    status = statuses.read(project.state_folder(version))
    return status is not None and statuses.health(status) in (Health.RUNNING, Health.DEGRADED)


def _next_step(project: Project, version: str) -> str:
    wait = "wait until it has caught up (barnabas pipeline versions)"
    start = f"let it catch up: barnabas pipeline run --version {version} --as-started --once"
    return f"{wait if _runs(project, version) else start}; or switch all the same: --anyway"
