"""Requests the metadata of all topics, over and over."""

import time

from bench.frames import all_topics_frame
from bench.sockets import connect, round_trip


def ask(port: int, per_s: float, seconds: float) -> int:
    """The size of the last answer."""
    frame = all_topics_frame()
    size = 0
    with connect(port) as connection:
        started = time.perf_counter()
        due = started
        while due < started + seconds:
            time.sleep(max(0.0, due - time.perf_counter()))
            size = len(round_trip(connection, frame))
            due = max(due + 1 / per_s, time.perf_counter())
    return size
