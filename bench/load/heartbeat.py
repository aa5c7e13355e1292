"""A client that asks several servers something small every millisecond, and notes how long each answer takes.

A server whose loop is held answers late. On a busy machine every server answers late. Two things tell them apart: a
server at rest is asked by the same process at the same time, and the kernel tells how long a thread that could run
waited for a core (`/proc/PID/schedstat`). What remains of a late answer without that wait is the loop's own doing.
"""

import contextlib
import gc
import os
import time
from collections.abc import Sequence
from typing import NamedTuple

from bench.frames import api_versions_frame
from bench.sockets import connect, round_trip

INTERVAL_S = 0.001


class Beats(NamedTuple):
    p99_ms: float
    max_ms: float
    hold_max_ms: float
    """The latest answer, without what the server's main thread and this client waited for a core meanwhile."""


def beat(ports: Sequence[int], pids: Sequence[int], seconds: float) -> list[Beats]:
    """Per server, in order."""
    with contextlib.suppress(PermissionError):
        os.nice(-10)  # its own turn on a core is not what is measured
    gc.disable()
    frame = api_versions_frame()
    connections = [connect(port) for port in ports]
    for connection in connections:
        round_trip(connection, frame)
    accounts = [os.open(f"/proc/{pid}/schedstat", os.O_RDONLY) for pid in pids]
    own_account = os.open("/proc/self/schedstat", os.O_RDONLY)
    latencies: list[list[int]] = [[] for _ in ports]
    holds: list[list[int]] = [[] for _ in ports]
    started = time.perf_counter()
    due = started
    while due < started + seconds:
        time.sleep(max(0.0, due - time.perf_counter()))
        for index, connection in enumerate(connections):
            waited = _waited_for_core_ns(accounts[index]) + _waited_for_core_ns(own_account)
            sent = time.perf_counter_ns()
            round_trip(connection, frame)
            latency = time.perf_counter_ns() - sent
            latencies[index].append(latency)
            waited = _waited_for_core_ns(accounts[index]) + _waited_for_core_ns(own_account) - waited
            holds[index].append(latency - waited)
        due = max(due + INTERVAL_S, time.perf_counter())
    for connection in connections:
        connection.close()
    for account in (*accounts, own_account):
        os.close(account)
    return [_beats(sorted(noted), max(held)) for noted, held in zip(latencies, holds, strict=True)]


def _beats(ordered_ns: list[int], hold_ns: int) -> Beats:
    return Beats(ordered_ns[len(ordered_ns) * 99 // 100] / 1e6, ordered_ns[-1] / 1e6, hold_ns / 1e6)


def _waited_for_core_ns(account: int) -> int:
    return int(os.pread(account, 100, 0).split()[1])
