"""Running processes: from /proc where it exists, else from `ps`."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")
_ENDED: Final = ("Z", "X")


class ProcessInfo(NamedTuple):
    pid: int
    session: int
    started: str
    """The start time: tells a process from a later one with the same pid."""


def running_processes() -> list[ProcessInfo]:
    """All processes except zombies."""
    if has_proc():
        found = [_from_proc(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit()]
        return [process for process in found if process is not None]
    return _from_ps("-A")


def find_process(pid: int) -> ProcessInfo | None:
    """None if there is no such process, or it is a zombie."""
    if has_proc():
        return _from_proc(pid)
    return next(iter(_from_ps("-p", str(pid))), None)


def command_line(pid: int) -> str:
    """The process's arguments, separated by spaces; empty if it has ended."""
    if not has_proc():
        return "".join(_ps("-ww", "-o", "command=", "-p", str(pid))).strip()
    try:
        return (PROC / str(pid) / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def memory_bytes(pid: int) -> int:
    """The peak resident memory; from `ps`, the current one. 0 if the process has ended."""
    if not has_proc():
        return sum(int(line) * 1024 for line in _ps("-o", "rss=", "-p", str(pid)))
    try:
        status = (PROC / str(pid) / "status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def has_proc() -> bool:
    return (PROC / "self" / "stat").exists()


def _from_proc(pid: int) -> ProcessInfo | None:
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The fields after the command's name, which is in brackets and may contain anything.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _ENDED else ProcessInfo(pid, int(fields[3]), fields[19])


def _from_ps(*which: str) -> list[ProcessInfo]:
    """The session comes from the kernel: on macOS the column `sess` of `ps` is something else."""
    found = []
    for line in _ps("-o", "pid=", "-o", "state=", "-o", "lstart=", *which):
        pid, state, *started = line.split()
        if state[0] in _ENDED:
            continue
        try:
            found.append(ProcessInfo(int(pid), os.getsid(int(pid)), "-".join(started)))
        except (ProcessLookupError, PermissionError):  # it has just ended, or belongs to another user
            continue
    return found


def _ps(*options: str) -> Sequence[str]:
    """The output lines; `ps` prints none, and fails, if there is no such process."""
    environment = {**os.environ, "LC_ALL": "C"}
    ended = subprocess.run(["ps", *options], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return ended.stdout.splitlines()
