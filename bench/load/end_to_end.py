"""From sending a record to its arrival at a consumer whose Fetch is already waiting at the server."""

import time

from bench.frames import (
    FetchFrame,
    batch_of,
    fetch_error_position,
    fetch_records_size_position,
    produce_error_position,
    produce_frame,
)
from bench.load.round_trips import RoundTrips, summary
from bench.sockets import check_error_code, connect, receive_frame

_MAX_WAIT_MS = 500  # what consumers ask for by default
_PARKED_S = 0.0005  # time for the Fetch to reach the server and wait there


def pass_through(port: int, topic: str, count: int, first_offset: int) -> RoundTrips:
    """`count` records, one after the other."""
    produce = produce_frame(topic, 0, batch_of(1, 100))
    fetch = FetchFrame(topic, 0, max_bytes=1 << 20, max_wait_ms=_MAX_WAIT_MS)
    empty_size_max = fetch_records_size_position(topic) + 10
    latencies: list[int] = []
    busy, started = time.process_time(), time.perf_counter()
    with connect(port) as producer, connect(port) as consumer:
        for offset in range(first_offset, first_offset + count):
            consumer.sendall(fetch.at(offset))
            time.sleep(_PARKED_S)
            sent = time.perf_counter_ns()
            producer.sendall(produce)
            while len(answer := receive_frame(consumer)) <= empty_size_max:
                check_error_code(answer, fetch_error_position(topic))
                consumer.sendall(fetch.at(offset))  # the fetch timed out, as fetches do
            latencies.append(time.perf_counter_ns() - sent)
            check_error_code(answer, fetch_error_position(topic))
            check_error_code(receive_frame(producer), produce_error_position(topic))
    elapsed_s = time.perf_counter() - started
    return summary(latencies, elapsed_s, (time.process_time() - busy) / elapsed_s)
