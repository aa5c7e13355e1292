"""The status of a running pipeline: a small file, written by the driver and read without Spark.

The driver replaces `.barnabas/<version>/status.json` (atomically) whenever something changes, and at least every
`REFRESH_S` seconds. From the file and its age, readers determine whether the driver is still alive.
"""

import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from barnabas.portable.processes import find_process
from barnabas.portable.replacement import replace_file
from barnabas.spark.errors import UserError

FILE_NAME = "status.json"
FORMAT = 1

REFRESH_S = 5.0
SILENT_AFTER_S = 6 * REFRESH_S
"""A driver that is busy (a long plan, a full disk) may miss a few updates before it counts as silent."""


class State(StrEnum):
    """Of one flow."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    """It runs, and waits for records."""
    BLOCKED = "blocked"
    """It runs, but the broker does not answer. It continues when the broker is back."""
    RETRYING = "retrying"
    """It failed and will be restarted soon."""
    FINISHED = "finished"
    """It has read everything (`run --once`)."""
    STOPPED = "stopped"
    FAILED = "failed"


ENDED = frozenset({State.FINISHED, State.STOPPED, State.FAILED})
IN_TROUBLE = frozenset({State.BLOCKED, State.RETRYING, State.FAILED})


class Health(StrEnum):
    """Of the whole pipeline, as a reader sees it."""

    RUNNING = "running"
    DEGRADED = "degraded"
    """It runs, but some of its flows are blocked, retrying or failed."""
    SILENT = "silent"
    """Its process exists, or is on another machine, and has not written the status for too long."""
    DEAD = "dead"
    """Its process ended while flows were running."""
    FAILED = "failed"
    STOPPED = "stopped"
    FINISHED = "finished"


ALIVE = frozenset({Health.RUNNING, Health.DEGRADED, Health.SILENT})
"""Its process may still be running."""


@dataclass(frozen=True)
class FlowStatus:
    name: str
    state: State
    updated_at: float
    """Seconds since 1970, as all times here."""
    batch_id: int | None = None
    input_rows_per_s: float | None = None
    output_rows_per_s: float | None = None
    input_rows: int | None = None
    """Since this run began."""
    output_rows: int | None = None
    lag: int | None = None
    """Records in the log that the flow has not read yet; None: it cannot be measured now."""
    watermark: str | None = None
    """ISO 8601 in UTC."""
    state_rows: int | None = None
    state_bytes: int | None = None
    last_error: str | None = None
    late_rows: int | None = None
    """Left out because they came later than `late` allows. This and all following counts: since this run began."""
    dead_rows: int | None = None
    """Dead letters of this flow or of a source that it reads."""
    dropped_rows: int | None = None
    """Broke a rule with `otherwise: drop`."""
    behind_watermark: int | None = None
    """Dropped by Spark because they were behind the watermark."""
    broken_rules: Mapping[str, int] = field(default_factory=dict)
    """Rows that broke each rule: `readings.plausible`."""
    restarts: int = 0
    """How often it failed and was restarted."""


@dataclass(frozen=True)
class Status:
    project: str
    version: str
    pid: int
    host: str
    process: str
    """Distinguishes this process from a later one with the same pid."""
    started_at: float
    updated_at: float
    flows: tuple[FlowStatus, ...]
    format: int = FORMAT


def of_this_process(project: str, version: str, started_at: float, flows: Sequence[FlowStatus]) -> Status:
    """A status of this process, as the driver writes it."""
    pid = os.getpid()
    return Status(
        project=project,
        version=version,
        pid=pid,
        host=socket.gethostname(),
        process=process_id(pid) or "",
        started_at=started_at,
        updated_at=time.time(),
        flows=tuple(flows),
    )


def write(state_folder: Path, status: Status) -> None:
    state_folder.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(status), indent=2) + b"\n"
    replace_file(state_folder / FILE_NAME, content, sync=False)


def read(state_folder: Path) -> Status | None:
    """None: this version has never run here."""
    file = state_folder / FILE_NAME
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}", "look at its permissions") from None
    try:
        return msgspec.json.decode(data, type=Status)
    except msgspec.MsgspecError as error:
        raise UserError(
            f"{file} is not a status file that this version of barnabas can read: {error}",
            "remove the file; a running pipeline writes it again within seconds",
        ) from None


def health(status: Status, *, now: float | None = None) -> Health:
    states = {flow.state for flow in status.flows}
    if states and states <= ENDED:
        if State.FAILED in states:
            return Health.FAILED
        return Health.STOPPED if State.STOPPED in states else Health.FINISHED
    if status.host == socket.gethostname() and not is_alive(status):
        return Health.DEAD
    silent_s = (time.time() if now is None else now) - status.updated_at
    if silent_s > SILENT_AFTER_S:
        return Health.SILENT
    return Health.DEGRADED if states & IN_TROUBLE else Health.RUNNING


def is_alive(status: Status) -> bool:
    """Whether the process that wrote it still runs on this machine."""
    found = process_id(status.pid)
    return found is not None and (not status.process or found == status.process)


def this_host() -> str:
    return socket.gethostname()


def process_id(pid: int) -> str | None:
    """The pid and start time of a process; None if it does not exist or is a zombie."""
    found = find_process(pid)
    return None if found is None else f"{pid}@{found.started}"


def versions(folder: Path) -> list[str]:
    """Versions that have a status, in the order of their names."""
    return sorted(each.parent.name for each in folder.glob(f"[A-Za-z0-9]*/{FILE_NAME}"))
