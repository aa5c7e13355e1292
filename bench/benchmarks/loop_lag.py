"""How one client's load affects another's latency: a probe every millisecond during each kind of load.

The same client also probes an idle broker. On a machine with few cores that one is slow too, when load and helpers
compete for the cores (`bench.load.latency_probe` explains how to tell the two apart).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from bench.admin import connect_client, make_topic
from bench.children import in_child, running_alongside
from bench.frames import batch_of, keyed_batch
from bench.load import bare_fetch, bare_produce, long_requests, metadata
from bench.load.latency_probe import Latencies, measure_latencies
from bench.results import Better, Measure
from bench.servers import BARNABAS, KAFKA, Server
from bench.stage import Benchmark, Stage

NAME = "loop-lag"
_BLOCKED_MS_MAX = 20.0
_PROPERTIES = {"log.cleaner.backoff.ms": "100"}
_TOPICS_PER_REQUEST = 1000
_KEY_RANGES = 25
_SETTLE_S = 0.5  # until the processes of the load and the probe are running

Load = Callable[[Stage, Server, float], AbstractContextManager[object]]


def run(stage: Stage) -> None:
    with stage.server(BARNABAS) as idle, stage.running(_PROPERTIES) as servers:
        worst = (0.0, "")
        for label, load in _LOADS.items():
            for server in servers:
                seconds = stage.sizes.lag_s
                with load(stage, server, seconds + 4 * _SETTLE_S):
                    busy, rest = in_child(measure_latencies, [server.port, idle.port], [server.pid, idle.pid], seconds)
                _note(stage, label, server.name, busy)
                if server.name == BARNABAS:
                    _note(stage, label, "idle broker", rest)
                    worst = max(worst, (busy.blocked_max_ms, label))
        if worst[1]:
            stage.note(f"loop-lag: the event loop was blocked for at most {worst[0]:.1f} ms, with {worst[1]}")


def _note(stage: Stage, label: str, name: str, latencies: Latencies) -> None:
    stage.add(Measure(NAME, f"latency with {label}, p99", "ms", Better.LESS), name, latencies.p99_ms)
    stage.add(Measure(NAME, f"latency with {label}, max", "ms", Better.LESS), name, latencies.max_ms)
    if name != KAFKA:  # it has no event loop, but many threads
        blocked = Measure(NAME, f"event loop blocked with {label}, max", "ms", Better.LESS, ceiling=_BLOCKED_MS_MAX)
        stage.add(blocked, name, latencies.blocked_max_ms)


@contextmanager
def _nothing(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    yield


@contextmanager
def _large_produces(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    """100 MB/s in requests of 1 MB, which is as large as a batch may be."""
    make_topic(server.port, "flood", config={"retention.bytes": "100000000", "segment.bytes": "50000000"})
    with running_alongside(bare_produce.pump_at, server.port, "flood", batch_of(960, 1024), 100e6, seconds):
        yield


@contextmanager
def _slow_consumer(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    make_topic(server.port, "slow")
    bare_produce.pump(server.port, "slow", batch_of(480, 1024), 100)
    with running_alongside(bare_fetch.consume_slowly, server.port, "slow", 1e6, seconds):
        yield


@contextmanager
def _compaction(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    """Dirty segments at the start, and more of them all the time."""
    batches = [keyed_batch(index * 1000, 1000, 200) for index in range(_KEY_RANGES)]
    make_topic(
        server.port,
        "compacted",
        config={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "16000000"},
    )
    for batch in batches:
        bare_produce.pump(server.port, "compacted", batch, stage.sizes.compaction_bytes // _KEY_RANGES // len(batch))
    with running_alongside(bare_produce.pump_at, server.port, "compacted", batches[0], 10e6, seconds):
        yield
    if not any(Path(server.data_dir, "compacted-0").glob("*.deleted")):
        stage.note(f"loop-lag: {server.name} replaced no segment while its compaction was watched")


@contextmanager
def _fsyncs(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    make_topic(server.port, "synced", config={"flush.messages": "1"})
    with running_alongside(bare_produce.pump_at, server.port, "synced", batch_of(480, 1024), 50e6, seconds):
        yield


@contextmanager
def _metadata(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    with connect_client(server.port) as client:
        for first in range(0, stage.sizes.lag_topics, _TOPICS_PER_REQUEST):
            last = min(first + _TOPICS_PER_REQUEST, stage.sizes.lag_topics)
            topics = tuple(
                CreatableTopic(name=f"topic-{index}", num_partitions=1, replication_factor=1)
                for index in range(first, last)
            )
            client.call("create_topics", 7, CreateTopicsRequest(topics=topics))
    with running_alongside(metadata.ask, server.port, 5, seconds):
        yield


@contextmanager
def _many_topics(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    with running_alongside(long_requests.create_topics, server.port, stage.sizes.lag_topics // 10, seconds):
        yield


@contextmanager
def _many_groups(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    with running_alongside(long_requests.describe_groups, server.port, 2 * stage.sizes.lag_topics, seconds):
        yield


_LOADS: dict[str, Load] = {
    "no load": _nothing,
    "100 MB/s on one connection": _large_produces,
    "a slow consumer": _slow_consumer,
    "a compaction": _compaction,
    "an fsync per batch": _fsyncs,
    "10,000-topic metadata answers": _metadata,
    "1,000 topics created at once": _many_topics,
    "20,000 groups described": _many_groups,
}

BENCHMARK = Benchmark(NAME, "latency of a client while others make heavy load", run)
