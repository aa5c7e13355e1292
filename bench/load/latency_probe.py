"""A client that sends a small request to several servers every millisecond, and measures the response times.

A server with a blocked event loop answers late. On a busy machine every server answers late. Two things tell them
apart: the same process also probes an idle server, and the kernel reports how long a runnable thread waited for a core
(`/proc/PID/schedstat`). The response time without that wait is how long the loop was blocked.
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


class Latencies(NamedTuple):
    p99_ms: float
    max_ms: float
    blocked_max_ms: float
    """The longest response time, without the time that the server's main thread and this client waited for a core."""


def measure_latencies(ports: Sequence[int], pids: Sequence[int], seconds: float) -> list[Latencies]:
    """Per server, in order."""
    with contextlib.suppress(PermissionError):
        os.nice(-10)  # its own wait for a core is not to be measured
    gc.disable()
    frame = api_versions_frame()
    connections = [connect(port) for port in ports]
    for connection in connections:
        round_trip(connection, frame)
    accounts = [os.open(f"/proc/{pid}/schedstat", os.O_RDONLY) for pid in pids]
    own_account = os.open("/proc/self/schedstat", os.O_RDONLY)
    latencies: list[list[int]] = [[] for _ in ports]
    blocked: list[list[int]] = [[] for _ in ports]
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
            blocked[index].append(latency - waited)
        due = max(due + INTERVAL_S, time.perf_counter())
    for connection in connections:
        connection.close()
    for account in (*accounts, own_account):
        os.close(account)
    return [_latencies(sorted(all_ns), max(blocked_ns)) for all_ns, blocked_ns in zip(latencies, blocked, strict=True)]


def _latencies(ordered_ns: list[int], blocked_ns: int) -> Latencies:
    return Latencies(ordered_ns[len(ordered_ns) * 99 // 100] / 1e6, ordered_ns[-1] / 1e6, blocked_ns / 1e6)


def _waited_for_core_ns(account: int) -> int:
    return int(os.pread(account, 100, 0).split()[1])
