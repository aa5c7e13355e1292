"""One driver for each version of a project: two would corrupt its checkpoints.

The lock is a file lock of the operating system, beside the checkpoints, released when the process ends. Spark's JVM is
another process. When the driver is killed, the JVM ends a moment later by itself, but may still finish a batch. So its
process id is kept, and the next driver waits until it has ended.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from barnabas.pipeline import status
from barnabas.spark.errors import UserError

_LOCK_FILE: Final = "lock"
_JAVA_FILE: Final = "java"
_JAVA_ENDS_WITHIN_S: Final = 60.0
_CHECK_EVERY_S: Final = 0.1


@contextmanager
def only_driver(state_folder: Path, version: str) -> Iterator[None]:
    state_folder.mkdir(parents=True, exist_ok=True)
    with (state_folder / _LOCK_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _already_running(state_folder, version) from None
        _refuse_other_hosts(state_folder, version)
        _wait_for_java(state_folder)
        yield


def remember_java(state_folder: Path, pid: int) -> None:
    (state_folder / _JAVA_FILE).write_text(status.process_id(pid) or "")


def _already_running(state_folder: Path, version: str) -> UserError:
    last = status.read(state_folder)
    who = "another process" if last is None else f"process {last.pid} on {last.host}"
    return UserError(
        f"{version} is already running: {who}",
        f"look at it: barnabas pipeline status; stop it: barnabas pipeline stop --version {version}",
    )


def _refuse_other_hosts(state_folder: Path, version: str) -> None:
    """Not every shared file system supports locks; a status file that is being updated shows the same."""
    last = status.read(state_folder)
    if last is not None and last.host != status.this_host() and _is_being_written(last):
        raise _already_running(state_folder, version)


def _is_being_written(last: status.Status) -> bool:
    return status.health(last) in (status.Health.RUNNING, status.Health.DEGRADED)


def _wait_for_java(state_folder: Path) -> None:
    try:
        known = (state_folder / _JAVA_FILE).read_text().strip()
    except FileNotFoundError:
        return
    pid = known.partition("@")[0]
    deadline = time.monotonic() + _JAVA_ENDS_WITHIN_S
    while pid.isdigit() and int(pid) != os.getpid() and status.process_id(int(pid)) == known:
        if time.monotonic() > deadline:
            raise UserError(
                f"the Spark JVM of an earlier run is still running without its driver: process {pid}",
                f"stop it: kill {pid}; nothing is lost or duplicated",
            )
        time.sleep(_CHECK_EVERY_S)
