"""From the start of a process to its first acknowledged record, for a client that keeps retrying."""

import time
from collections.abc import Sequence

from barnabas.testing.client import create_topic
from bench.admin import connect_client
from bench.frames import batch_of, produce_error_position, produce_frame
from bench.servers import Server
from bench.sockets import check_error_code, connect, round_trip


def seconds_to_first_record(server: Server, topic: str, *, partitions: Sequence[int] = (0,), create: bool) -> float:
    """Starts the process and writes one record to each of the partitions; `create` creates the topic first."""
    batch = batch_of(1, 100)
    left = list(partitions)
    missing = create

    def attempt() -> None:
        nonlocal missing
        if missing:
            with connect_client(server.port) as client:
                create_topic(client, topic)
            missing = False
        with connect(server.port) as connection:
            while left:
                answer = round_trip(connection, produce_frame(topic, left[-1], batch))
                check_error_code(answer, produce_error_position(topic))
                left.pop()

    started = time.perf_counter()
    server.start()
    server.retry(attempt)
    return time.perf_counter() - started
