"""How groups affect producers: the p99 of small produce requests while the coordinator works, and while it is idle.

The work: a group of 50 members that rebalances twice a second, and 10,000 committed offsets a second, 100 in a request,
by 1,000 groups in rotation.
"""

import time
from contextlib import ExitStack

from bench.admin import make_topic
from bench.children import in_child, running_alongside
from bench.frames import batch_of, produce_error_position, produce_frame
from bench.load import groups
from bench.load.round_trips import drive
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME = "group-load"
_TOPIC = "group-load"
_PARTITIONS = 100
_MEMBERS = 50
_GROUPS = [f"group-{index}" for index in range(1_000)]
_OFFSETS_PER_S = 10_000
_REBALANCE_INTERVAL_S = 0.5
_GROWN_UP_S = 4.0
"""Members join for `group.initial.rebalance.delay.ms`, 3 s, before their first generation."""

_IDLE = Measure(NAME, "produce p99, no group", "us", Better.LESS)
_BUSY = Measure(NAME, "produce p99 beside groups", "us", Better.LESS)
_TIMES = Measure(NAME, "produce p99 beside groups, times that without", "x", Better.LESS, target=1.0)
_COMMITTED = Measure(NAME, "offsets committed meanwhile", "/s", Better.MORE)
_REBALANCED = Measure(NAME, "rebalances of 50 members meanwhile", "/s", Better.MORE)


def run(stage: Stage) -> None:
    with stage.running() as servers:
        for server in servers:
            make_topic(server.port, _TOPIC, _PARTITIONS)
            groups.find_coordinator(server.port, _GROUPS[0])
            groups.found_groups(server.port, _GROUPS, _TOPIC, _PARTITIONS)
        for round_number in range(stage.sizes.rounds + 1):
            for server in servers:
                idle = _produce_p99_us(server, stage.sizes.group_load_s)
                with ExitStack() as stack:
                    seconds = stage.sizes.group_load_s + _GROWN_UP_S + 2
                    commits = stack.enter_context(
                        running_alongside(
                            groups.commit_at, server.port, _GROUPS, _TOPIC, _PARTITIONS, _OFFSETS_PER_S, seconds
                        )
                    )
                    name = f"large-{round_number}"
                    rebalances = stack.enter_context(
                        running_alongside(groups.rebalance, server.port, name, _MEMBERS, _REBALANCE_INTERVAL_S, seconds)
                    )
                    time.sleep(_GROWN_UP_S)
                    busy = _produce_p99_us(server, stage.sizes.group_load_s)
                if round_number:
                    values = (idle, busy, busy / idle, commits.result() / seconds, rebalances.result() / seconds)
                    measures = (_IDLE, _BUSY, _TIMES, _COMMITTED, _REBALANCED)
                    for measure, value in zip(measures, values, strict=True):
                        stage.add(measure, server.name, value)


def _produce_p99_us(server: Server, seconds: float) -> float:
    frames = [produce_frame(_TOPIC, 0, batch_of(1, 100))]
    position = produce_error_position(_TOPIC)
    return in_child(drive, server.port, frames, error_position=position, connections=1, seconds=seconds).p99_us


BENCHMARK = Benchmark(NAME, "produces beside a rebalancing group and many commits", run)
