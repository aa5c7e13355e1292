"""What one client's demands do to another's latency: a heartbeat every millisecond beside each kind of load.

At the same time the same client asks a second broker that has nothing to do. On a machine with few cores that one
answers late, too, when load and helpers want the cores; only the difference is the doing of the broker's own loop.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from bench.admin import connect_client, make_topic
from bench.children import beside, in_child
from bench.frames import batch_of, keyed_batch
from bench.load import bare_fetch, bare_produce, metadata
from bench.load.heartbeat import beat
from bench.results import Better, Measure
from bench.servers import BARNABAS, Server
from bench.stage import Benchmark, Stage

NAME = "loop-lag"
_CEILING_MS = 20.0
_PROPERTIES = {"log.cleaner.backoff.ms": "100"}
_TOPICS_PER_REQUEST = 1000
_SETTLE_S = 0.5  # a load's process is up, and the heartbeat's too

Load = Callable[[Stage, Server, float], AbstractContextManager[object]]


def run(stage: Stage) -> None:
    with stage.server(BARNABAS) as idle, stage.running(_PROPERTIES) as servers:
        worst: dict[str, tuple[float, str]] = {}
        for label, load in _LOADS.items():
            for server in servers:
                seconds = stage.sizes.lag_s
                with load(stage, server, seconds + 4 * _SETTLE_S):
                    busy, rest = in_child(beat, [server.port, idle.port], seconds)
                _note(stage, label, server.name, busy.p99_us, busy.max_us)
                if server.name == BARNABAS:
                    _note(stage, label, "idle broker", rest.p99_us, rest.max_us)
                worst[server.name] = max(worst.get(server.name, (0.0, "")), (busy.max_us / 1000, label))
        for name, (lag_ms, label) in worst.items():
            stage.note(f"loop-lag: the worst for {name} is {lag_ms:.1f} ms, beside {label}")


def _note(stage: Stage, label: str, name: str, p99_us: float, max_us: float) -> None:
    stage.add(Measure(NAME, f"latency beside {label}, p99", "ms", Better.LESS), name, p99_us / 1000)
    stage.add(
        Measure(NAME, f"latency beside {label}, max", "ms", Better.LESS, ceiling=_CEILING_MS), name, max_us / 1000
    )


@contextmanager
def _nothing(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    yield


@contextmanager
def _large_produces(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    """100 MB/s in requests of 1 MB, which is as large as a batch may be."""
    make_topic(server.port, "flood", config={"retention.bytes": "100000000", "segment.bytes": "50000000"})
    with beside(bare_produce.pump_at, server.port, "flood", batch_of(960, 1024), 100e6, seconds):
        yield


@contextmanager
def _slow_consumer(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    make_topic(server.port, "slow")
    bare_produce.pump(server.port, "slow", batch_of(480, 1024), 100)
    with beside(bare_fetch.dawdle, server.port, "slow", 1e6, seconds):
        yield


@contextmanager
def _compaction(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    """Dirty segments to begin with, and more of them all the time."""
    batch = keyed_batch(0, 1000, 200)
    make_topic(
        server.port,
        "compacted",
        config={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "16000000"},
    )
    bare_produce.pump(server.port, "compacted", batch, stage.sizes.compaction_bytes // len(batch))
    with beside(bare_produce.pump_at, server.port, "compacted", batch, 10e6, seconds):
        yield
    checkpoint = Path(server.data_dir, "cleaner-offset-checkpoint")
    if not checkpoint.exists() or "compacted" not in checkpoint.read_text():
        stage.note(f"loop-lag: {server.name} finished no compaction while it was watched")


@contextmanager
def _fsyncs(stage: Stage, server: Server, seconds: float) -> Iterator[None]:
    make_topic(server.port, "synced", config={"flush.messages": "1"})
    with beside(bare_produce.pump_at, server.port, "synced", batch_of(480, 1024), 50e6, seconds):
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
    with beside(metadata.ask, server.port, 5, seconds):
        yield


_LOADS: dict[str, Load] = {
    "nothing": _nothing,
    "100 MB/s on one connection": _large_produces,
    "a slow consumer": _slow_consumer,
    "a compaction": _compaction,
    "an fsync per batch": _fsyncs,
    "10,000-topic metadata answers": _metadata,
}

BENCHMARK = Benchmark(NAME, "others' latency beside heavy clients", run)
