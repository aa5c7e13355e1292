"""Single small produces (acks=all, 100 B): one in flight on each of 1, 8 and 64 connections."""

from bench.admin import make_topic
from bench.children import in_child
from bench.frames import batch_of, produce_error_position, produce_frame
from bench.load.answers import api_key
from bench.load.null_server import null_server
from bench.load.round_trips import RoundTrips, drive
from bench.process_facts import with_cpu_s
from bench.results import Better, Measure
from bench.servers import Server
from bench.sockets import connect, round_trip
from bench.stage import Benchmark, Stage

NAME = "round-trips"
CONNECTIONS = (1, 8, 64)

_TOPIC = "round-trips"
_PARTITIONS = 8
_FRAMES = [produce_frame(_TOPIC, partition, batch_of(1, 100)) for partition in range(_PARTITIONS)]
_ERROR_POSITION = produce_error_position(_TOPIC)


def _measures(connections: int) -> tuple[Measure, ...]:
    on = f"{connections} connection{'s' if connections > 1 else ''}"
    return (
        Measure(NAME, f"round trip p50, {on}", "us", Better.LESS, 0.8 if connections == 1 else None),
        Measure(NAME, f"round trip p99, {on}", "us", Better.LESS),
        Measure(NAME, f"requests, {on}", "k/s", Better.MORE, 1.2 if connections > 1 else None),
        Measure(NAME, f"CPU of a request, {on}", "us", Better.LESS),
    )


def run(stage: Stage) -> None:
    _calibrate(stage)
    busiest: dict[str, float] = {}
    with stage.running() as servers:
        for server in servers:
            make_topic(server.port, _TOPIC, _PARTITIONS)
            for connections in CONNECTIONS:
                _measured(server.port, connections, stage.sizes.round_trips_s)
        for _ in range(stage.sizes.rounds):
            for connections in CONNECTIONS:
                for server in servers:
                    seconds = stage.sizes.round_trips_s
                    outcome, used_s = with_cpu_s(server.pid, _measured, server.port, connections, seconds)
                    cost_us = used_s / (outcome.per_s * seconds) * 1e6
                    values = (outcome.p50_us, outcome.p99_us, outcome.per_s / 1e3, cost_us)
                    for measure, value in zip(_measures(connections), values, strict=True):
                        stage.add(measure, server.name, value)
                    busiest[server.name] = max(busiest.get(server.name, 0), outcome.generator_busy)
    shares = ", ".join(f"{share:.0%} with {name}" for name, share in busiest.items())
    stage.note(f"round-trips: the load generator was at most this busy (share of a core): {shares}")


def _measured(port: int, connections: int, seconds: float) -> RoundTrips:
    frames = _FRAMES[:1] if connections == 1 else _FRAMES
    return in_child(drive, port, frames, error_position=_ERROR_POSITION, connections=connections, seconds=seconds)


def _calibrate(stage: Stage) -> None:
    """With a server that does nothing: the most that the generator can reach on this machine."""
    with stage.server(stage.server_names[0]) as server:
        answer = _answer_of(server)
    seconds = min(2.0, stage.sizes.round_trips_s)
    rates = []
    with null_server({api_key(_FRAMES[0]): answer}) as port:
        for connections in CONNECTIONS:
            outcome = _measured(port, connections, seconds)
            cost_us = outcome.generator_busy / outcome.per_s * 1e6
            rates.append(f"{outcome.per_s / 1e3:.0f} k/s at {cost_us:.1f} us of CPU each on {connections}")
    stage.note(f"round-trips: with a server that answers without work the load generator makes {', '.join(rates)}")


def _answer_of(server: Server) -> bytes:
    make_topic(server.port, _TOPIC, _PARTITIONS)
    with connect(server.port) as connection:
        return bytes(round_trip(connection, _FRAMES[0]))


BENCHMARK = Benchmark(NAME, "single small produces on 1, 8 and 64 connections", run)
