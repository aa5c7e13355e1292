"""Five thousand idle connections, and an active one."""

from multiprocessing import get_context

from bench.admin import make_topic
from bench.children import in_child
from bench.frames import batch_of, produce_error_position, produce_frame
from bench.load.idle_connections import hold_open
from bench.load.round_trips import RoundTrips, drive
from bench.process_facts import open_files, resident_mb
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME = "connections"
_TOPIC = "active"
_OPEN_TIMEOUT_S = 300.0


def _measure(name: str, unit: str) -> Measure:
    return Measure(NAME, name, unit, Better.LESS)


_OPEN = _measure("5,000 connections: to open and ask once on each", "s")
_MEMORY = _measure("5,000 connections: memory", "MB")
_FILES = _measure("5,000 connections: open files", "")
_P50 = _measure("5,000 connections: round trip p50 of an active one", "us")
_P50_ALONE = _measure("no other connection: round trip p50", "us")
_P99 = _measure("5,000 connections: round trip p99 of an active one", "us")


def run(stage: Stage) -> None:
    with stage.running() as servers:
        for server in servers:
            make_topic(server.port, _TOPIC)
            _round_trips(stage, server)  # warm
            stage.add(_P50_ALONE, server.name, _round_trips(stage, server).p50_us)
            _with_connections(stage, server)


def _with_connections(stage: Stage, server: Server) -> None:
    context = get_context("spawn")
    here, there = context.Pipe()
    holder = context.Process(target=hold_open, args=(server.port, stage.sizes.connections, there), daemon=True)
    holder.start()
    try:
        if not here.poll(_OPEN_TIMEOUT_S):
            raise TimeoutError(f"{stage.sizes.connections} connections are not open after {_OPEN_TIMEOUT_S:.0f} s")
        stage.add(_OPEN, server.name, here.recv())
        stage.add(_MEMORY, server.name, resident_mb(server.pid))
        stage.add(_FILES, server.name, open_files(server.pid))
        outcome = _round_trips(stage, server)
        stage.add(_P50, server.name, outcome.p50_us)
        stage.add(_P99, server.name, outcome.p99_us)
        here.send(None)
        holder.join(60)
    finally:
        holder.kill()
        holder.join()


def _round_trips(stage: Stage, server: Server) -> RoundTrips:
    frame = produce_frame(_TOPIC, 0, batch_of(1, 100))
    return in_child(
        drive,
        server.port,
        [frame],
        error_position=produce_error_position(_TOPIC),
        connections=1,
        seconds=stage.sizes.round_trips_s,
    )


BENCHMARK = Benchmark(NAME, "5,000 idle connections and an active one", run)
