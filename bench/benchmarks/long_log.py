"""A partition of 20 GB compared with one of 200 MB on the same server: produce, fetch, and a clean start.

Each fetch is for one batch at a random offset. Warm ones find it in the page cache; before cold ones, the files are
dropped from it.
"""

import os
import random
import time
from pathlib import Path

from bench.admin import make_topic
from bench.children import in_child
from bench.first_record import seconds_to_first_record
from bench.frames import FetchFrame, batch_of, fetch_error_position, produce_error_position, produce_frame
from bench.load import bare_produce
from bench.load.round_trips import drive
from bench.process_facts import resident_mb
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME = "long-log"
_RECORDS_PER_BATCH = 480
_FETCHES = 400
_ONE_PASS_S = 0.0


def _measure(name: str, unit: str, target: float | None = None, ceiling: float | None = None) -> Measure:
    return Measure(NAME, f"20 GB log: {name}", unit, Better.LESS, target, ceiling)


_COSTS = (
    _measure("produce p50, times that of 200 MB", "x", ceiling=2.0),
    _measure("warm fetch p50, times that of 200 MB", "x", ceiling=2.0),
    _measure("cold fetch p50, times that of 200 MB", "x", ceiling=2.0),
)
_COLD = _measure("cold fetch of 500 KB p50", "us")
_START = _measure("clean start to first record", "s", 0.25)
_MEMORY = _measure("memory after the start", "MB")


def run(stage: Stage) -> None:
    batch = batch_of(_RECORDS_PER_BATCH, 1024)
    short, long = stage.sizes.short_log_bytes // len(batch), stage.sizes.long_log_bytes // len(batch)
    for name in stage.server_names:
        with stage.server(name) as server:
            for topic, count in (("short", short), ("long", long)):
                make_topic(server.port, topic)
                in_child(bare_produce.pump, server.port, topic, batch, count)
            os.sync()
            _costs(stage, server, "short", short)  # warm
            before, after = _costs(stage, server, "short", short), _costs(stage, server, "long", long)
            for measure, small, large in zip(_COSTS, before, after, strict=True):
                stage.add(measure, name, large / small)
            stage.add(_COLD, name, after[-1])
            server.stop()
            stage.add(_START, name, seconds_to_first_record(server, "long", create=False))
            time.sleep(stage.sizes.rest_s)
            stage.add(_MEMORY, name, resident_mb(server.pid))


def _costs(stage: Stage, server: Server, topic: str, batches: int) -> tuple[float, float, float]:
    """p50 in microseconds: of a small produce, a warm fetch and a cold fetch."""
    produced = in_child(
        drive,
        server.port,
        [produce_frame(topic, 0, batch_of(1, 100))],
        error_position=produce_error_position(topic),
        connections=1,
        seconds=stage.sizes.round_trips_s,
    )
    chosen = random.Random(4).choices(range(batches), k=_FETCHES)
    request = FetchFrame(topic, 0, max_bytes=1)
    frames = [bytes(request.at(batch * _RECORDS_PER_BATCH)) for batch in chosen]
    _fetched(server, topic, frames)
    warm_us = _fetched(server, topic, frames)
    _forget(server.data_dir)
    return produced.p50_us, warm_us, _fetched(server, topic, frames)


def _fetched(server: Server, topic: str, frames: list[bytes]) -> float:
    position = fetch_error_position(topic)
    return in_child(drive, server.port, frames, error_position=position, connections=1, seconds=_ONE_PASS_S).p50_us


def _forget(directory: Path) -> None:
    """Drop the files from the page cache; for synced files that needs no root."""
    for path in directory.rglob("*.log"):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


BENCHMARK = Benchmark(NAME, "a 20 GB log: produce, fetch warm and cold, clean start", run)
