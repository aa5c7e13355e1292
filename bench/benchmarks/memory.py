"""Resident memory: of a new server, and of one after load."""

import time

from bench.admin import make_topic
from bench.children import in_child
from bench.frames import batch_of
from bench.load import bare_fetch, bare_produce
from bench.process_facts import resident_mb
from bench.results import Better, Measure
from bench.stage import Benchmark, Stage

NAME = "memory"
_AT_REST = Measure(NAME, "memory at rest", "MB", Better.LESS, 0.2)
_AFTER_LOAD = Measure(NAME, "memory after load", "MB", Better.LESS)
_RECORDS_PER_BATCH = 480


def run(stage: Stage) -> None:
    batch = batch_of(_RECORDS_PER_BATCH, 1024)
    count = stage.sizes.load_bytes // len(batch)
    for name in stage.server_names:
        with stage.server(name) as server:
            time.sleep(stage.sizes.rest_s)
            stage.add(_AT_REST, name, resident_mb(server.pid))
            make_topic(server.port, "load")
            in_child(bare_produce.pump, server.port, "load", batch, count)
            in_child(
                bare_fetch.drain,
                server.port,
                "load",
                batch_size=len(batch),
                batch_count=count,
                records_per_batch=_RECORDS_PER_BATCH,
            )
            stage.add(_AFTER_LOAD, name, resident_mb(server.pid))


BENCHMARK = Benchmark(NAME, "resident memory at rest and after load", run)
