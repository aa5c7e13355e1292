"""`barnabas pipeline replay`: runs the current logic over the history, as a new version beside the current one."""

import datetime
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from barnabas.pipeline.location import FIRST_VERSION
from barnabas.pipeline.log_client import connected
from barnabas.pipeline.project.model import Project, Start
from barnabas.pipeline.replay.version_progress import has_run, reached_offsets, records_behind
from barnabas.spark.errors import UserError
from barnabas.spark.pointer import find

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipeline.status import Status

_EARLIEST: Final = "earliest"
_NICE: Final = 10


def replay(
    project: Project,
    *,
    version: str,
    flow: str | None = None,
    start: str = _EARLIEST,
    once: bool = False,
    trace: bool = False,
    full_speed: bool = False,
    say: Callable[[str], None] = print,
    show: "Callable[[Status], None]" = lambda status: None,
    spark: "SparkSession | None" = None,
) -> "Status":
    """Returns the final status when it is stopped, or, with `once`, when it has read what was there. `say` reports when
    it has caught up with the version that readers see.

    Unless `full_speed` is set, this process and its JVM run with a lower priority than others on the machine, such as
    the version that is running.
    """
    from barnabas.pipeline.run import run

    begin = parse_start(start)
    project.state_folder(version)  # raises if it is not a valid version name
    current = _current(project, version)
    if has_run(project, version):
        say(f"{version} has run before and continues where it was")
    if spark is None and not full_speed:
        os.nice(_NICE)
    caught_up = CatchUpReport(project, version, current, flow, say)

    def shown(status: "Status") -> None:
        caught_up.update()
        show(status)

    last = run(
        project,
        once=once,
        version=version,
        trace=trace,
        flows=None if flow is None else [flow],
        begin=dict.fromkeys(project.sources, begin),
        say=say,
        show=shown,
        spark=spark,
    )
    caught_up.update()
    for old in sorted(set(current.values())):
        say(f"next: barnabas pipeline compare {old} {version}, then barnabas pipeline switch {version}")
    return last


def parse_start(text: str) -> Start | int:
    """`earliest`, or a time with a zone, as milliseconds since 1970."""
    if text == _EARLIEST:
        return Start.EARLIEST
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise UserError(
            f"`{text}` is not a starting point", "use earliest, or a time such as 2026-01-31T12:00Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000)


def _current(project: Project, version: str) -> dict[str, str]:
    """By flow, the version to catch up with. A replay into the current version would change what readers see."""
    with connected(project.log) as cluster:
        pointer = find(cluster, project.name)
    seen = {} if pointer is None else {flow: target.version for flow, target in pointer.flows.items()}
    if version in seen.values():
        raise UserError(
            f"{version} is the current version, which readers see, so nothing can be replayed into it",
            f"choose a new name: barnabas pipeline replay --as NAME; to continue {version}: barnabas pipeline run "
            f"--version {version}",
        )
    return seen


class CatchUpReport:
    """Reports how far a version is behind another one, each time that changes, and when it has caught up."""

    def __init__(
        self,
        project: Project,
        version: str,
        current: Mapping[str, str],
        flow: str | None,
        say: Callable[[str], None],
    ) -> None:
        self._project = project
        self._version = version
        self._current = current
        self._flows = [each.name for each in project.running_flows() if flow in (None, each.name)]
        self._say = say
        self._total: dict[str, int] = {}
        self._reported_percent: dict[str, int] = {}
        self.done: set[str] = set()

    def update(self) -> None:
        for flow in self._flows:
            if flow in self.done:
                continue
            current = self._current.get(flow, FIRST_VERSION)
            goal = reached_offsets(self._project.checkpoint(flow, current))
            mine = reached_offsets(self._project.checkpoint(flow, self._version))
            if not goal or mine is None:
                continue
            missing = records_behind(mine, goal)
            if missing == 0:
                self.done.add(flow)
                self._say(f"{flow}: {self._version} has caught up with {current}")
                continue
            total = max(self._total.setdefault(flow, missing), missing)
            percent = 100 * (total - missing) // total
            if percent >= self._reported_percent.get(flow, -10) + 10:
                self._reported_percent[flow] = percent
                bar = "#" * (percent // 10) + "." * (10 - percent // 10)
                self._say(f"{flow}: [{bar}] {self._version} is {missing:,} records behind {current}")
