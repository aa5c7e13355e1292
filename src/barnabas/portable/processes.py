"""The processes of this machine: from /proc where there is one, else from `ps`."""

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
    """Tells a process from a later one with the same number."""


def running_processes() -> list[ProcessInfo]:
    """All of them, without those that have ended and that only their parent still has to ask for."""
    if has_proc():
        found = [_from_proc(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit()]
        return [process for process in found if process is not None]
    return _from_ps("-A")


def find_process(pid: int) -> ProcessInfo | None:
    """None: there is none, or it has ended."""
    if has_proc():
        return _from_proc(pid)
    return next(iter(_from_ps("-p", str(pid))), None)


def command_line(pid: int) -> str:
    """Its words, with blanks between them; empty if it has ended."""
    if not has_proc():
        return "".join(_ps("-ww", "-o", "command=", "-p", str(pid))).strip()
    try:
        return (PROC / str(pid) / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def memory_bytes(pid: int) -> int:
    """The most memory that it ever had; from `ps`, what it has now. 0 if it has ended."""
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
    # After the command's name, in brackets, which may contain anything: state, parent, group, session, ..., start time.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _ENDED else ProcessInfo(pid, int(fields[3]), fields[19])


def _from_ps(*which: str) -> list[ProcessInfo]:
    """The session is asked of the kernel: the column of that name means something else on macOS."""
    found = []
    for line in _ps("-o", "pid=", "-o", "state=", "-o", "lstart=", *which):
        pid, state, *started = line.split()
        if state[0] in _ENDED:
            continue
        try:
            found.append(ProcessInfo(int(pid), os.getsid(int(pid)), "-".join(started)))
        except (ProcessLookupError, PermissionError):  # it has just ended, or is none of our business
            continue
    return found


def _ps(*options: str) -> Sequence[str]:
    """The lines that it prints: none, and a status that says so, if there is no such process."""
    environment = {**os.environ, "LC_ALL": "C"}
    ended = subprocess.run(["ps", *options], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return ended.stdout.splitlines()
