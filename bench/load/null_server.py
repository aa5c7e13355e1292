"""A server that answers every request with the same bytes at once, to measure the load generator alone."""

import contextlib
import select
import socket
import time

from bench.sockets import HOST


def answer_always(port: int, answer: bytes, seconds: float) -> None:
    """For requests that fit one packet, each sent after the answer to the one before."""
    deadline = time.monotonic() + seconds
    connections: dict[int, socket.socket] = {}
    with socket.create_server((HOST, port), backlog=128) as listener, select.epoll() as epoll:
        epoll.register(listener.fileno(), select.EPOLLIN)
        while time.monotonic() < deadline:
            for descriptor, _ in epoll.poll(0.1):
                if descriptor == listener.fileno():
                    connection, _ = listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connections[connection.fileno()] = connection
                    epoll.register(connection.fileno(), select.EPOLLIN)
                    continue
                connection = connections[descriptor]
                with contextlib.suppress(ConnectionError):
                    if connection.recv(65536):
                        connection.send(answer)
                        continue
                epoll.unregister(descriptor)
                connections.pop(descriptor).close()
        for connection in connections.values():
            connection.close()
