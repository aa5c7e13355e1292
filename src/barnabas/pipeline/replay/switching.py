"""`barnabas pipeline switch`: lets readers see another version, once it has read as much as the current one."""

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
from barnabas.pipeline.replay.pointer_moves import Move, move
from barnabas.pipeline.replay.version_progress import as_started, has_run, reached_offsets, records_behind
from barnabas.pipeline.status import Health
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest
from barnabas.spark.pointer import find
from barnabas.spark.source.offsets import PartitionOffsets

WAIT_S: Final = 30.0
"""For a running version that is a moment behind: at the end of the log the two versions alternate."""
_CHECK_EVERY_S: Final = 0.2


def switch(
    project: Project,
    *,
    version: str,
    flow: str | None = None,
    anyway: bool = False,
    wait_s: float = WAIT_S,
    say: Callable[[str], None] = print,
) -> list[Move]:
    """Returns what has changed. Raises UserError if the version has read less than the current one, unless `anyway`."""
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
    """Refuse a version without output: readers would find nothing."""
    for flow in flows:
        if reached_offsets(project.checkpoint(flow.name, version)) is None:
            raise UserError(
                f"flow `{flow.name}` of {version} has not finished a batch yet",
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
    goal = _offsets_of_current(cluster, project, flow.name, current.version)
    deadline = time.monotonic() + wait_s
    announced = False
    while True:
        missing = records_behind(reached_offsets(new.checkpoint(flow.name, version)) or {}, goal)
        if missing == 0:
            return
        if not _is_running(new, version) or time.monotonic() > deadline:
            raise UserError(
                f"flow `{flow.name}` of {version} is {missing:,} records behind {current.version}",
                _next_step(new, version),
            )
        if not announced:
            say(f"{flow.name}: {version} is {missing:,} records behind {current.version}; waiting for it")
            announced = True
        time.sleep(_CHECK_EVERY_S)


def _offsets_of_current(cluster: Cluster, project: Project, flow: str, version: str) -> PartitionOffsets:
    """The offsets that the current version has reached. If it runs elsewhere, those of its consumer group."""
    if has_run(project, version):
        return reached_offsets(project.checkpoint(flow, version)) or {}
    group = group_of(project, version, flow)
    committed = fetch_offsets(cluster, group, None)
    if not committed:
        raise UserError(
            f"it is unknown how far the current version {version} has read: it has no checkpoints here, and its group "
            f"{group} has no offsets",
            "switch on the machine where it runs, or skip this check: --anyway",
        )
    return {TopicPartition(*place): found.offset for place, found in committed.items()}


def _is_running(project: Project, version: str) -> bool:
    status = statuses.read(project.state_folder(version))
    return status is not None and statuses.health(status) in (Health.RUNNING, Health.DEGRADED)


def _next_step(project: Project, version: str) -> str:
    wait = "wait until it has caught up (barnabas pipeline versions)"
    start = f"let it catch up: barnabas pipeline run --version {version} --as-started --once"
    return f"{wait if _is_running(project, version) else start}; or skip this check: --anyway"
