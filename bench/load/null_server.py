"""A server that answers at once with bytes that were kept, to measure the load generator alone."""

import contextlib
import select
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from barnabas.testing.ports import pick_free_port
from bench.children import running_alongside
from bench.load.answers import api_key
from bench.sockets import HOST, connect

_STOP: Final = b"stop"
_START_TIMEOUT_S: Final = 60.0


@contextmanager
def null_server(answers: Mapping[int, bytes]) -> Iterator[int]:
    """The port of a server that has an answer for each API key.

    Requests must fit into one packet, and each must be sent after the answer to the one before.
    """
    port = pick_free_port(HOST)
    with running_alongside(_serve, port, answers):
        _wait_for(port)
        try:
            yield port
        finally:
            with connect(port) as connection:
                connection.sendall(_STOP)


def _serve(port: int, answers: Mapping[int, bytes]) -> None:
    connections: dict[int, socket.socket] = {}
    with socket.create_server((HOST, port), backlog=128) as listener, select.epoll() as epoll:
        epoll.register(listener.fileno(), select.EPOLLIN)
        while True:
            for descriptor, _ in epoll.poll():
                if descriptor == listener.fileno():
                    connection, _ = listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connections[connection.fileno()] = connection
                    epoll.register(connection.fileno(), select.EPOLLIN)
                    continue
                connection = connections[descriptor]
                with contextlib.suppress(ConnectionError):
                    request = connection.recv(65536)
                    if request == _STOP:
                        for each in connections.values():
                            each.close()
                        return
                    if request:
                        connection.send(answers[api_key(request)])
                        continue
                epoll.unregister(descriptor)
                connections.pop(descriptor).close()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            return connect(port).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
