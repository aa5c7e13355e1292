"""Ten thousand partitions, each with records: create, write, stop, start, and idle.

The time of a request is compared with that on the same server with ten partitions.
"""

import time

from bench.admin import make_topic, wait_until_led
from bench.children import in_child
from bench.first_record import seconds_to_first_record
from bench.frames import FetchFrame, batch_of, fetch_error_position, produce_error_position, produce_frame
from bench.load import bare_produce
from bench.load.round_trips import drive
from bench.process_facts import cpu_s, open_files, resident_mb
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME = "partitions"
_FEW = 10
_FRAMES_MAX = 1000


def _measure(name: str, unit: str, target: float | None = None, ceiling: float | None = None) -> Measure:
    return Measure(NAME, name, unit, Better.LESS, target, ceiling)


_CREATE = _measure("10,000 partitions: create", "s")
_WRITE = _measure("10,000 partitions: a record to each", "s")
_STOP = _measure("10,000 partitions: clean stop", "s")
_START = _measure("10,000 partitions: clean start to first record", "s", 0.25)
_START_ALL = _measure("10,000 partitions: clean start to a record on each", "s")
_MEMORY = _measure("10,000 partitions: memory", "MB")
_FILES = _measure("10,000 partitions: open files", "")
_IDLE = _measure("10,000 partitions: CPU at rest", "%", ceiling=1.0)
_PRODUCE_COST = _measure("10,000 partitions: produce p50, times that of 10", "x", ceiling=2.0)
_FETCH_COST = _measure("10,000 partitions: fetch p50, times that of 10", "x", ceiling=2.0)


def run(stage: Stage) -> None:
    for name in stage.server_names:
        with stage.server(name) as server:
            _run_one(stage, server)


def _run_one(stage: Stage, server: Server) -> None:
    topics = [f"many-{index}" for index in range(stage.sizes.topics)]
    per_topic = stage.sizes.partitions_per_topic
    few_produce_us, few_fetch_us = _small_case(stage, server)

    started = time.perf_counter()
    for topic in topics:
        make_topic(server.port, topic, per_topic)
    stage.add(_CREATE, server.name, time.perf_counter() - started)
    stage.add(_WRITE, server.name, _record_to_each(server, topics, per_topic))

    started = time.perf_counter()
    server.stop()
    stage.add(_STOP, server.name, time.perf_counter() - started)
    started = time.perf_counter()
    stage.add(_START, server.name, seconds_to_first_record(server, topics[0], create=False))
    for topic in topics:
        wait_until_led(server.port, topic, per_topic)
    _record_to_each(server, topics, per_topic)
    stage.add(_START_ALL, server.name, time.perf_counter() - started)

    produce_us, fetch_us = _costs(stage, server, topics[-1], min(per_topic, _FRAMES_MAX))
    stage.add(_PRODUCE_COST, server.name, produce_us / few_produce_us)
    stage.add(_FETCH_COST, server.name, fetch_us / few_fetch_us)

    time.sleep(stage.sizes.rest_s)
    stage.add(_MEMORY, server.name, resident_mb(server.pid))
    stage.add(_FILES, server.name, open_files(server.pid))
    before = cpu_s(server.pid)
    time.sleep(stage.sizes.rest_s)
    stage.add(_IDLE, server.name, (cpu_s(server.pid) - before) / stage.sizes.rest_s * 100)


def _small_case(stage: Stage, server: Server) -> tuple[float, float]:
    make_topic(server.port, "few", _FEW)
    _record_to_each(server, ["few"], _FEW)
    _costs(stage, server, "few", _FEW)  # warm
    return _costs(stage, server, "few", _FEW)


def _record_to_each(server: Server, topics: list[str], per_topic: int) -> float:
    batch = batch_of(1, 100)
    started = time.perf_counter()
    for topic in topics:
        bare_produce.pump(server.port, topic, batch, per_topic, per_topic)
    return time.perf_counter() - started


def _costs(stage: Stage, server: Server, topic: str, partitions: int) -> tuple[float, float]:
    """p50 of a small produce and of a small fetch on one connection that goes from partition to partition."""
    batch = batch_of(1, 100)
    produces = [produce_frame(topic, index, batch) for index in range(partitions)]
    fetches = [bytes(FetchFrame(topic, index, max_bytes=4096).at(0)) for index in range(partitions)]
    seconds = stage.sizes.round_trips_s
    fetched = in_child(
        drive, server.port, fetches, error_position=fetch_error_position(topic), connections=1, seconds=seconds
    )
    produced = in_child(
        drive, server.port, produces, error_position=produce_error_position(topic), connections=1, seconds=seconds
    )
    return produced.p50_us, fetched.p50_us


BENCHMARK = Benchmark(NAME, "10,000 partitions: create, write, restart, rest", run)
