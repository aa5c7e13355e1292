"""Short turns of load on connections that stay open, with one request in flight on each.

Runs in a child process, which keeps the connections of one server between turns. The generator must be faster than the
server: per round trip it makes two system calls and its share of an `epoll_wait`, and the garbage collector is off.
After a turn the last answer of every connection is decoded: it may contain no error and no throttle time.
"""

import gc
import select
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

from bench.load.answers import api_key
from bench.load.exchanges import Exchange
from bench.sockets import TIMEOUT_S, connect, receive_exactly, receive_frame, round_trip

_CHUNK: Final = 65536
_HEAD_SIZE: Final = 512
"""Exchanges look at no more of an answer than this."""
_ANSWER_SIZE_MAX: Final = 4 << 20


class Turn(NamedTuple):
    completed: int
    elapsed_s: float
    generator_cpu_s: float

    @property
    def per_s(self) -> float:
        return self.completed / self.elapsed_s

    @property
    def generator_per_s(self) -> float:
        """What the generator would make with a core of its own, if it never had to wait."""
        return self.completed / self.generator_cpu_s


class Connections:
    """One open connection for each exchange."""

    def __init__(self, port: int, exchanges: Sequence[Exchange], *, have_begun: bool = False) -> None:
        self._exchanges = exchanges
        self._opened: list[socket.socket] = []
        with ExitStack() as stack:
            for exchange in exchanges:
                connection = stack.enter_context(connect(port))
                if not have_begun:
                    exchange.begin(connection)
                connection.settimeout(None)  # otherwise there is a poll() before every call
                self._opened.append(connection)
            self._stack = stack.pop_all()

    def close(self) -> None:
        self._stack.close()

    def sample_answers(self) -> dict[int, bytes]:
        exchange, connection = self._exchanges[0], self._opened[0]
        answers = {}
        while exchange.completed < 2:
            answer = bytes(round_trip(connection, exchange.frame))
            answers[api_key(exchange.frame)] = answer
            exchange.verify(answer)
            exchange.answered(answer)
        return answers

    def turn(self, connections: int, seconds: float) -> Turn:
        """On the first so many connections; the others are idle."""
        used = list(zip(self._opened[:connections], self._exchanges, strict=False))
        before = sum(exchange.completed for _, exchange in used)
        gc.disable()
        try:
            busy = time.process_time()
            started = time.perf_counter()
            for connection, exchange in used:
                connection.send(exchange.frame)
            end = started
            while end == started or before == sum(exchange.completed for _, exchange in used):
                end += seconds  # more than once only if a round trip, or a transaction, takes longer than a turn
                _keep_answering(used, end)
            answers = [bytes(receive_frame(connection)) for connection, _ in used]
            elapsed_s = time.perf_counter() - started
            busy = time.process_time() - busy
        finally:
            gc.enable()
        for answer, (_, exchange) in zip(answers, used, strict=True):
            exchange.verify(answer)
            exchange.answered(answer)
        return Turn(sum(exchange.completed for _, exchange in used) - before, elapsed_s, busy)


def _keep_answering(used: Sequence[tuple[socket.socket, Exchange]], end: float) -> None:
    """Returns when the time is over, with one request in flight on each connection."""
    clock = time.perf_counter
    rest = memoryview(bytearray(_ANSWER_SIZE_MAX))
    with select.epoll() as epoll:
        lanes = {}
        for connection, exchange in used:
            epoll.register(connection.fileno(), select.EPOLLIN)
            lanes[connection.fileno()] = (connection.recv, connection.send, exchange.answered, connection)
        while clock() < end:
            ready = epoll.poll(TIMEOUT_S)
            if not ready:
                raise TimeoutError(f"no answer in {TIMEOUT_S:.0f} s")
            for descriptor, _ in ready:
                receive, send, answered, connection = lanes[descriptor]
                answer = receive(_CHUNK)
                missing = int.from_bytes(answer[:4]) + 4 - len(answer)
                if missing > 0:
                    if not answer:
                        raise ConnectionError("the server closed the connection")
                    receive_exactly(connection, rest[:missing])
                    if len(answer) < _HEAD_SIZE:
                        answer += rest[: min(missing, _HEAD_SIZE)]
                send(answered(answer))


_kept: Final[list[Connections]] = []
"""What the child process keeps between calls: at most one."""


def open_connections(port: int, exchanges: Sequence[Exchange]) -> tuple[Sequence[Exchange], dict[int, bytes]]:
    """Open connections, which stay open.

    Returns the exchanges as they are now, and an answer to each of their requests by API key: see `null_server`.
    """
    _kept.append(Connections(port, exchanges))
    return exchanges, _kept[0].sample_answers()


def resume_connections(port: int, exchanges: Sequence[Exchange]) -> None:
    """The same with exchanges that have begun, perhaps with another server."""
    _kept.append(Connections(port, exchanges, have_begun=True))


def take_turn(connections: int, seconds: float) -> Turn:
    return _kept[0].turn(connections, seconds)


def close_connections() -> None:
    _kept.pop().close()
