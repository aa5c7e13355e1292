"""The requests that real clients send most: one in flight on each of 8 and 64 connections.

The servers take short turns, so that both see the same disturbances of the machine, and the ratio is the median of the
ratios of adjacent turns. After a turn the last answers are decoded, and may contain no error.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from bench.children import Child, child_process
from bench.load.exchanges import Exchange
from bench.load.null_server import null_server
from bench.load.turns import close_connections, open_connections, resume_connections, take_turn
from bench.other_load import OtherLoad
from bench.process_facts import with_cpu_s
from bench.request_kinds import KINDS
from bench.request_kinds.kind import CONNECTIONS, RequestKind
from bench.request_kinds.topics import make_topics
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME = "requests"


class Contender(NamedTuple):
    server: Server
    generator: Child


class Limit(NamedTuple):
    """How close a row came to what the load generator can do."""

    times_faster: float
    """What the generator can make with a server that does nothing, divided by the faster server's rate."""
    row: str


def measures(kind: RequestKind, connections: int) -> tuple[Measure, Measure]:
    name = f"{kind.title}, {connections} connections"
    cpu_target = kind.target.cpu if connections == CONNECTIONS[0] else None
    return (
        Measure(NAME, f"{name}: rate", "k/s", Better.MORE, kind.target.rates.get(connections)),
        Measure(NAME, f"{name}: CPU", "us", Better.LESS, cpu_target),
    )


def run(stage: Stage) -> None:
    kinds = [kind for kind in KINDS if stage.is_wanted(kind.title)]
    other_load = OtherLoad()
    limits: list[Limit] = []
    with stage.running() as servers, ExitStack() as stack:
        contenders = [Contender(server, stack.enter_context(child_process())) for server in servers]
        for server in servers:
            make_topics(server.port)
        for number, kind in enumerate(kinds, 1):
            warm_turn_s = stage.sizes.warm_turn_s if number > 1 else stage.sizes.first_warm_turn_s
            _measure_kind(stage, contenders, kind, warm_turn_s, other_load, limits)
            stage.log_progress(NAME, number, len(kinds))
    stage.note(f"{NAME}: {other_load}")
    if limits:
        times, row = min(limits)
        stage.note(
            f"{NAME}: with a core of its own and a server that answers without work, the load generator makes "
            f"at least {times:.1f} times the requests of the faster server; the least with {row}"
        )


def _measure_kind(
    stage: Stage,
    contenders: Sequence[Contender],
    kind: RequestKind,
    warm_turn_s: float,
    other_load: OtherLoad,
    limits: list[Limit],
) -> None:
    samples = []
    for server, generator in contenders:
        exchanges = kind.exchanges(server.port, max(CONNECTIONS))
        samples.append(generator.call(open_connections, server.port, exchanges))
        for connections in CONNECTIONS:
            generator.call(take_turn, connections, warm_turn_s)
    for number in range(stage.sizes.turns):
        for connections in CONNECTIONS:
            # Alternately first, in case the second of two turns is at an advantage.
            for contender in contenders if number % 2 == 0 else reversed(contenders):
                _measure(stage, contender, kind, connections, other_load)
    for connections in CONNECTIONS:
        for measure in measures(kind, connections):
            stage.log_result(measure)
    for _, generator in contenders:
        generator.call(close_connections)
    if len(contenders) > 1:
        limits += _limits(stage, contenders[0].generator, kind, *samples[0])


def _measure(stage: Stage, contender: Contender, kind: RequestKind, connections: int, other_load: OtherLoad) -> None:
    server, generator = contender
    with other_load.watching() as ours:
        turn, used_s = with_cpu_s(server.pid, generator.call, take_turn, connections, stage.sizes.turn_s)
        ours.append(used_s + turn.generator_cpu_s)
    rate, cost = measures(kind, connections)
    stage.results.add(rate, server.name, turn.per_s / 1e3)
    stage.results.add(cost, server.name, used_s / turn.completed * 1e6)


def _limits(
    stage: Stage, generator: Child, kind: RequestKind, exchanges: Sequence[Exchange], answers: dict[int, bytes]
) -> list[Limit]:
    found = []
    with null_server(answers) as port:
        generator.call(resume_connections, port, exchanges)
        for connections in CONNECTIONS:
            turn = generator.call(take_turn, connections, stage.sizes.warm_turn_s / 2)
            rate, _ = measures(kind, connections)
            fastest = max(stage.results.value(rate, name) or 0 for name in stage.server_names)
            found.append(Limit(turn.generator_per_s / 1e3 / fastest, rate.name.removesuffix(": rate")))
        generator.call(close_connections)
    stage.log(f"the load generator alone is {', '.join(f'{limit.times_faster:.1f}' for limit in found)} times faster")
    return found


BENCHMARK = Benchmark(
    NAME, "what real clients send most, on 8 and 64 connections", run, tuple(kind.title for kind in KINDS)
)
