"""Records and bytes per second, in and out: with librdkafka, and with bare clients, so that the server is the limit."""

import os
from collections.abc import Callable
from functools import partial

from bench.admin import drop_topic, expect_records, make_topic
from bench.children import in_child
from bench.frames import batch_of
from bench.load import bare_fetch, bare_produce, librdkafka
from bench.process_facts import with_cpu_s
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME = "throughput"

_TARGET = 1.2
# Deleted topics are removed from the disk during the run.
_PROPERTIES = {"log.segment.delete.delay.ms": "100"}


def _measure(name: str, unit: str, target: float | None = None) -> Measure:
    return Measure(NAME, name, unit, Better.MORE, target)


def _cost(name: str) -> Measure:
    return Measure(NAME, name, "s/GB", Better.LESS)


_LIBRDKAFKA = {
    100: (
        _measure("produce 100 B, librdkafka", "k records/s", _TARGET),
        _measure("consume 100 B, librdkafka", "k records/s"),
    ),
    1024: (_measure("produce 1 KB, librdkafka", "MB/s", _TARGET), _measure("consume 1 KB, librdkafka", "MB/s")),
}
_BARE = {
    # record size, records per batch: the Java producer's batches of 16 KB, and large ones as librdkafka makes them
    (100, 146): (
        _measure("produce, bare, 16 KB batches", "MB/s", _TARGET),
        _measure("drain, bare, 16 KB batches", "MB/s", _TARGET),
        _cost("CPU to take in, 16 KB batches"),
        _cost("CPU to give out, 16 KB batches"),
    ),
    (1024, 480): (
        _measure("produce, bare, 500 KB batches", "MB/s", _TARGET),
        _measure("drain, bare, 500 KB batches", "MB/s", _TARGET),
        _cost("CPU to take in, 500 KB batches"),
        _cost("CPU to give out, 500 KB batches"),
    ),
}


def run(stage: Stage) -> None:
    with stage.running(_PROPERTIES) as servers:
        for size in _LIBRDKAFKA:
            _alternate(stage, servers, partial(_librdkafka, stage, size))
        for size, count in _BARE:
            _alternate(stage, servers, partial(_bare, stage, size, count))


def _alternate(stage: Stage, servers: list[Server], once: Callable[[Server, bool], None]) -> None:
    for round_number in range(stage.sizes.rounds + 1):
        for server in servers:
            once(server, round_number > 0)
            # One server's writeback must not slow down the next.
            os.sync()


def _librdkafka(stage: Stage, size: int, server: Server, keep: bool) -> None:
    topic = f"librdkafka-{size}"
    count = stage.sizes.librdkafka_bytes // size
    make_topic(server.port, topic)
    produced_s = in_child(librdkafka.produce, server.port, topic, count, size)
    expect_records(server.port, topic, count)
    consumed_s = in_child(librdkafka.consume, server.port, topic, count)
    drop_topic(server.port, topic)
    if keep:
        scale = count / 1e3 if size == 100 else count * size / 1e6
        for measure, seconds in zip(_LIBRDKAFKA[size], (produced_s, consumed_s), strict=True):
            stage.add(measure, server.name, scale / seconds)


def _bare(stage: Stage, size: int, records_per_batch: int, server: Server, keep: bool) -> None:
    topic = f"bare-{size}"
    batch = batch_of(records_per_batch, size)
    count = stage.sizes.bare_bytes // len(batch)
    make_topic(server.port, topic)
    produced_s, produced_cpu_s = with_cpu_s(server.pid, in_child, bare_produce.pump, server.port, topic, batch, count)
    expect_records(server.port, topic, count * records_per_batch)
    drained_s, drained_cpu_s = with_cpu_s(
        server.pid,
        in_child,
        bare_fetch.drain,
        server.port,
        topic,
        batch_size=len(batch),
        batch_count=count,
        records_per_batch=records_per_batch,
    )
    drop_topic(server.port, topic)
    if keep:
        total = count * len(batch)
        values = (
            total / 1e6 / produced_s,
            total / 1e6 / drained_s,
            produced_cpu_s / (total / 1e9),
            drained_cpu_s / (total / 1e9),
        )
        for measure, value in zip(_BARE[size, records_per_batch], values, strict=True):
            stage.add(measure, server.name, value)


BENCHMARK = Benchmark(NAME, "produce and consume rates, librdkafka and bare", run)
