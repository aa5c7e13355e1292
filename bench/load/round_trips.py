"""Round trips of small requests on several connections, each with one request in flight.

The generator must be faster than the server. Per round trip it makes two system calls (each with a `poll` before it,
because the sockets have a timeout) and its share of an `epoll_wait`, compares two bytes and stores one number; the
garbage collector is off. Its CPU use is reported, and `bench.load.null_server` shows how fast it is when the server
does nothing. `bench.load.turns` does without the `poll` and needs a seventh less CPU; here it stays, so that figures
can be compared with older ones.
"""

import gc
import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.sockets import Refused, connect, receive_frame

_ANSWER_SIZE_MAX = 65536


class RoundTrips(NamedTuple):
    per_s: float
    p50_us: float
    p99_us: float
    max_us: float
    generator_busy: float
    """The share of a core that the generator used."""


def drive(
    port: int, frames: Sequence[bytes], *, error_position: int | None, connections: int, seconds: float
) -> RoundTrips:
    """A single connection sends all frames in rotation, at least once; of several connections each sends one frame."""
    gc.disable()
    opened = [connect(port) for _ in range(connections)]
    try:
        for index, connection in enumerate(opened):  # connected, and everything that is created on first use exists
            connection.sendall(frames[index % len(frames)])
            receive_frame(connection)
        busy = time.process_time()
        started = time.perf_counter_ns()
        end = started + int(seconds * 1e9)
        if connections == 1:
            latencies = _alternate(opened[0], frames, error_position, end)
        else:
            latencies = _interleave(opened, frames, error_position, end)
        elapsed_s = (time.perf_counter_ns() - started) / 1e9
        busy = time.process_time() - busy
    finally:
        for connection in opened:
            connection.close()
    return summary(latencies, elapsed_s, busy / elapsed_s)


def summary(latencies_ns: list[int], elapsed_s: float, generator_busy: float) -> RoundTrips:
    ordered = sorted(latencies_ns)
    return RoundTrips(
        per_s=len(ordered) / elapsed_s,
        p50_us=ordered[len(ordered) // 2] / 1000,
        p99_us=ordered[len(ordered) * 99 // 100] / 1000,
        max_us=ordered[-1] / 1000,
        generator_busy=generator_busy,
    )


def _alternate(connection: socket.socket, frames: Sequence[bytes], error_position: int | None, end: int) -> list[int]:
    send, receive, clock = connection.send, connection.recv, time.perf_counter_ns
    error_slice = _error_slice(error_position)
    latencies: list[int] = []
    while True:
        for frame in frames:
            sent = clock()
            send(frame)
            answer = receive(_ANSWER_SIZE_MAX)
            while len(answer) < int.from_bytes(answer[:4]) + 4:  # Kafka sends the records of a Fetch on their own
                answer += receive(_ANSWER_SIZE_MAX)
            latencies.append(clock() - sent)
            if answer[error_slice] not in _NO_ERROR:
                raise Refused(f"unexpected answer {answer[:64]!r}")
        if sent >= end:
            return latencies


def _interleave(
    connections: Sequence[socket.socket], frames: Sequence[bytes], error_position: int | None, end: int
) -> list[int]:
    clock = time.perf_counter_ns
    error_slice = _error_slice(error_position)
    latencies: list[int] = []
    note = latencies.append
    with select.epoll() as epoll:
        lanes: dict[int, tuple[Callable[[int], bytes], Callable[[bytes], int], bytes]] = {}
        sent: dict[int, int] = {}
        for index, connection in enumerate(connections):
            epoll.register(connection.fileno(), select.EPOLLIN)
            lanes[connection.fileno()] = (connection.recv, connection.send, frames[index % len(frames)])
            sent[connection.fileno()] = clock()
            connection.send(frames[index % len(frames)])
        now = clock()
        while now < end:
            for descriptor, _ in epoll.poll():
                receive, send, frame = lanes[descriptor]
                answer = receive(_ANSWER_SIZE_MAX)
                while len(answer) < int.from_bytes(answer[:4]) + 4:
                    answer += receive(_ANSWER_SIZE_MAX)
                now = clock()
                note(now - sent[descriptor])
                if answer[error_slice] not in _NO_ERROR:
                    raise Refused(f"unexpected answer {answer[:64]!r}")
                sent[descriptor] = now
                send(frame)
    return latencies


# Even if the error code is not checked, the connection must not be closed.
_NO_ERROR = (b"\x00\x00", b"\x00")


def _error_slice(error_position: int | None) -> slice:
    return slice(0, 1) if error_position is None else slice(error_position, error_position + 2)
