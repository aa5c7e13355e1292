"""Memory, open files and CPU time of a server and its child processes, from /proc."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def process_tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:  # it ended while we looked
                continue
    return found


def resident_mb(pid: int) -> float:
    return sum(_resident_kb(one) for one in process_tree(pid)) / 1024


def open_files(pid: int) -> int:
    return sum(len(os.listdir(f"/proc/{one}/fd")) for one in process_tree(pid))


def cpu_s(pid: int) -> float:
    """User and system time of the process itself so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def machine_cpu_s() -> float:
    """What all processes together have used so far, and what the hypervisor has given to other machines."""
    fields = Path("/proc/stat").read_text().split(maxsplit=11)
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICKS_PER_S


def with_cpu_s(pid: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    """The function's result, and the CPU time of the process meanwhile. Unlike a rate, it ignores other load."""
    before = cpu_s(pid)
    result = function(*args, **kwargs)
    return result, cpu_s(pid) - before


def _resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
