"""Many connections that asked once and then say nothing, held while somebody else measures."""

import time
from multiprocessing.connection import Connection

from bench.frames import api_versions_frame
from bench.sockets import connect, round_trip


def hold(port: int, count: int, told: Connection) -> None:
    """Tell the seconds it took to open all and get an answer on each; then hold them until told to end."""
    frame = api_versions_frame()
    started = time.perf_counter()
    connections = []
    for _ in range(count):
        connection = connect(port)
        round_trip(connection, frame)
        connections.append(connection)
    told.send(time.perf_counter() - started)
    told.recv()
    for connection in connections:
        connection.close()
