"""Many idle connections, held open while another process measures."""

import time
from multiprocessing.connection import Connection

from bench.frames import api_versions_frame
from bench.sockets import connect, round_trip


def hold_open(port: int, count: int, pipe: Connection) -> None:
    """Send the seconds it took to open all and get an answer on each; then hold them open until a message comes."""
    frame = api_versions_frame()
    started = time.perf_counter()
    connections = []
    for _ in range(count):
        connection = connect(port)
        round_trip(connection, frame)
        connections.append(connection)
    pipe.send(time.perf_counter() - started)
    pipe.recv()
    for connection in connections:
        connection.close()
