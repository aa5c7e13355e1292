"""The requests that real clients send most: one in flight on each of 8 and 64 connections.

The first and the last answer of each kind are decoded, and may contain no error.
"""

from collections.abc import Sequence

from barnabas.wire.codec import decode_response, is_flexible
from barnabas.wire.errors import ErrorCode
from barnabas.wire.schema import Message
from bench.admin import make_topic
from bench.children import in_child
from bench.frames import framed
from bench.load.groups import find_coordinator
from bench.load.round_trips import RoundTrips, drive
from bench.process_facts import with_cpu_s
from bench.request_kinds import (
    GROUPS,
    KINDS,
    OTHER_TOPICS,
    PARTITIONS,
    TOPIC,
    WIDE_PARTITIONS,
    WIDE_TOPIC,
    RequestKind,
)
from bench.results import Better, Measure
from bench.servers import Server
from bench.sockets import Refused, connect, round_trip
from bench.stage import Benchmark, Stage

NAME = "requests"
CONNECTIONS = (8, 64)


def _measures(kind: RequestKind, connections: int) -> tuple[Measure, Measure]:
    name = f"{kind.title}, {connections} connections"
    return (
        Measure(NAME, f"{name}: rate", "k/s", Better.MORE, kind.target.rates[connections]),
        Measure(NAME, f"{name}: CPU", "us", Better.LESS, kind.target.cpu if connections == CONNECTIONS[0] else None),
    )


def run(stage: Stage) -> None:
    with stage.running() as servers:
        for server in servers:
            _prepare(server)
        for kind in KINDS:
            frames = {server.name: _frames(server, kind) for server in servers}
            for server in servers:
                _check(server, kind, frames[server.name][0])
                _measured(server, frames[server.name], CONNECTIONS[0], stage.sizes.round_trips_s)
            for _ in range(stage.sizes.rounds):
                for connections in CONNECTIONS:
                    for server in servers:
                        _measure(stage, server, kind, frames[server.name], connections)
            for server in servers:
                _check(server, kind, frames[server.name][0])


def _prepare(server: Server) -> None:
    make_topic(server.port, TOPIC, PARTITIONS)
    make_topic(server.port, WIDE_TOPIC, WIDE_PARTITIONS)
    for name in OTHER_TOPICS:
        make_topic(server.port, name)
    for group in GROUPS:
        find_coordinator(server.port, group)


def _frames(server: Server, kind: RequestKind) -> list[bytes]:
    return [framed(kind.api, kind.version, request) for request in kind.make(server.port)]


def _measure(stage: Stage, server: Server, kind: RequestKind, frames: Sequence[bytes], connections: int) -> None:
    seconds = stage.sizes.round_trips_s
    outcome, used_s = with_cpu_s(server.pid, _measured, server, frames, connections, seconds)
    rate, cost = _measures(kind, connections)
    stage.add(rate, server.name, outcome.per_s / 1e3)
    stage.add(cost, server.name, used_s / (outcome.per_s * seconds) * 1e6)


def _measured(server: Server, frames: Sequence[bytes], connections: int, seconds: float) -> RoundTrips:
    return in_child(drive, server.port, frames, error_position=None, connections=connections, seconds=seconds)


def _check(server: Server, kind: RequestKind, frame: bytes) -> None:
    with connect(server.port) as connection:
        answer = round_trip(connection, frame)
    body = 4 + 4 + is_flexible(kind.api, kind.version)
    _expect_no_error(decode_response(kind.api, kind.version, bytes(answer[body:])), kind.title)


def _expect_no_error(value: object, title: str) -> None:
    if isinstance(value, ErrorCode) and value is not ErrorCode.none:
        raise Refused(f"{title} was answered with {value.name}")
    if isinstance(value, tuple):
        for each in value:
            _expect_no_error(each, title)
    elif isinstance(value, Message):
        for name in value.layout.fields:
            _expect_no_error(getattr(value, name), title)


BENCHMARK = Benchmark(NAME, "what real clients send most, on 8 and 64 connections", run)
