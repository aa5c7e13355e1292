"""A client that asks several servers something small every millisecond, and notes how long each answer takes.

A server whose loop is held answers late. A machine that is busy answers late too: so a server at rest is asked by the
same process at the same time, and what the two differ in is the loop.
"""

import contextlib
import gc
import os
import time
from collections.abc import Sequence

from bench.frames import api_versions_frame
from bench.load.round_trips import RoundTrips, summary
from bench.sockets import connect, round_trip

INTERVAL_S = 0.001


def beat(ports: Sequence[int], seconds: float) -> list[RoundTrips]:
    """Per port, in order."""
    with contextlib.suppress(PermissionError):
        os.nice(-10)  # its own turn on a core is not what is measured
    gc.disable()
    frame = api_versions_frame()
    connections = [connect(port) for port in ports]
    for connection in connections:
        round_trip(connection, frame)
    latencies: list[list[int]] = [[] for _ in ports]
    started = time.perf_counter()
    due = started
    busy = time.process_time()
    while due < started + seconds:
        time.sleep(max(0.0, due - time.perf_counter()))
        for connection, noted in zip(connections, latencies, strict=True):
            sent = time.perf_counter_ns()
            round_trip(connection, frame)
            noted.append(time.perf_counter_ns() - sent)
        due = max(due + INTERVAL_S, time.perf_counter())
    elapsed_s = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return [summary(noted, elapsed_s, (time.process_time() - busy) / elapsed_s) for noted in latencies]
