"""Asks a running pipeline to stop after its current batches, so that the next start repeats nothing, and waits for it.

The request is a file beside the status, addressed to one process, so that a request which came too late cannot stop
the next run. The driver looks for it with `requested`. A driver that does not answer in time gets a SIGTERM.
"""

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from barnabas.pipeline import status as statuses
from barnabas.pipeline.status import ALIVE, Status
from barnabas.portable.replacement import replace_file
from barnabas.spark.errors import UserError

FILE_NAME = "stop"
POLL_S = 0.1
AFTER_SIGTERM_S = 15.0


def requested(state_folder: Path) -> bool:
    """For the driver: whether this very process was asked to stop."""
    try:
        wanted = (state_folder / FILE_NAME).read_text().strip()
    except OSError:
        return False
    return wanted == statuses.process_id(os.getpid())


def clear(state_folder: Path) -> None:
    """For the driver, when it starts and when it has stopped."""
    (state_folder / FILE_NAME).unlink(missing_ok=True)


def stop(state_folder: Path, *, timeout_s: float, say: Callable[[str], None] = lambda _: None) -> Status:
    """The status after the pipeline has ended. Raises UserError if nothing runs, or it cannot be stopped."""
    status = statuses.read(state_folder)
    if status is None or statuses.health(status) not in ALIVE:
        raise UserError(
            f"version {state_folder.name} of this project is not running"
            + ("" if status is None else f"; its last run is {statuses.health(status)}"),
            "see what is running: barnabas pipeline status",
        )
    here = status.host == socket.gethostname()
    replace_file(state_folder / FILE_NAME, f"{status.process}\n".encode(), sync=False)
    say(f"Asked process {status.pid} to stop after its current batches")
    if _wait(state_folder, status, timeout_s):
        return _last(state_folder, status)
    if here:
        say(f"No answer in {timeout_s:g} s; sending SIGTERM to process {status.pid}")
        _terminate(status.pid)
        if _wait(state_folder, status, AFTER_SIGTERM_S):
            return _last(state_folder, status)
    force = f"kill -9 {status.pid}" + ("" if here else f" on {status.host}")
    raise UserError(
        f"process {status.pid} on {status.host} is still running",
        f"wait and look at `barnabas pipeline status`, or kill it: {force}; nothing is lost or duplicated",
    )


def _wait(state_folder: Path, status: Status, timeout_s: float) -> bool:
    """Wait until it has ended: its process is gone, or, if it runs elsewhere, its status says so."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if status.host == socket.gethostname():
            if not statuses.is_alive(status):
                return True
        elif statuses.health(_last(state_folder, status)) not in ALIVE:
            return True
        time.sleep(POLL_S)
    return False


def _last(state_folder: Path, status: Status) -> Status:
    return statuses.read(state_folder) or status


def _terminate(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has just ended
    except PermissionError:
        raise UserError(
            f"process {pid} belongs to another user and cannot be stopped from here",
            "run this as that user, or wait: it has been asked to stop",
        ) from None
