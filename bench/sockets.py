"""Plain blocking sockets on the loopback."""

import socket
import struct

HOST = "127.0.0.1"
TIMEOUT_S = 120.0


class Refused(Exception):
    """The server answered with an error, but the benchmark needs success."""


def connect(port: int, timeout_s: float = TIMEOUT_S) -> socket.socket:
    connection = socket.create_connection((HOST, port), timeout=timeout_s)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive_exactly(connection: socket.socket, buffer: memoryview) -> None:
    got = 0
    while got < len(buffer):
        count = connection.recv_into(buffer[got:])
        if not count:
            raise ConnectionError("the server closed the connection")
        got += count


def receive_frame(connection: socket.socket) -> bytearray:
    """The whole answer, including its size field."""
    head = bytearray(4)
    receive_exactly(connection, memoryview(head))
    (size,) = struct.unpack(">i", head)
    frame = bytearray(4 + size)
    frame[:4] = head
    receive_exactly(connection, memoryview(frame)[4:])
    return frame


def round_trip(connection: socket.socket, frame: bytes | bytearray) -> bytearray:
    connection.sendall(frame)
    return receive_frame(connection)


def check_error_code(answer: bytes | bytearray, position: int) -> None:
    (code,) = struct.unpack_from(">h", answer, position)
    if code:
        raise Refused(f"the server answered with error code {code}")
