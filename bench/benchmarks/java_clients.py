"""Kafka's own ProducerPerformance and ConsumerPerformance with 6 partitions: 100 B and 1 KB, plain and lz4.

The servers take turns with the same number of records. The number follows from a first, short run, which also warms
them up. The producer makes its own records; consumers read batches of 16 KB, the same from both servers.
"""

import os
import random
import resource
import string
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Final, NamedTuple

from barnabas.records.compression import Codec
from barnabas.records.record import Record, build_batch
from bench.admin import drop_topic, expect_records, make_topic
from bench.load import bare_produce, java_clients
from bench.other_load import OtherLoad
from bench.process_facts import with_cpu_s
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME: Final = "java-clients"
_PARTITIONS: Final = 6
_BATCH_SIZE: Final = 16_384  # the Java producer's
_WARM_UP_SHARE: Final = 5
"""The first one of so many parts of a producer's records warms up its JVM and is not measured."""
_PROPERTIES: Final = {
    "log.segment.delete.delay.ms": "100",  # deleted topics are removed from the disk during the run
    "group.initial.rebalance.delay.ms": "0",  # it is not part of what is measured, but would take a minute of the run
}


class Case(NamedTuple):
    client: str
    size: int
    codec: str

    @property
    def title(self) -> str:
        return f"Java {self.client}, {self.size} B, {self.codec}".replace("1024 B", "1 KB")

    @property
    def topic(self) -> str:
        return f"{self.client}-{self.size}-{self.codec}"

    @property
    def measures(self) -> tuple[Measure, Measure]:
        return (
            Measure(NAME, f"{self.title}: rate", "k records/s", Better.MORE, 1.0),
            Measure(NAME, f"{self.title}: CPU", "us/record", Better.LESS),
        )


CASES: Final = tuple(Case(*each) for each in product(("producer", "consumer"), (100, 1024), ("none", "lz4")))

Turn = Callable[[Server, int], float]
"""Gets a server and the number of records; returns the client's rate."""


def run(stage: Stage) -> None:
    cases = [case for case in CASES if stage.is_wanted(case.title)]
    other_load = OtherLoad()
    with stage.running(_PROPERTIES) as servers:
        for number, case in enumerate(cases, 1):
            if case.client == "producer":
                _alternate(stage, servers, case, partial(_produce, case), None, other_load)
            else:
                held = [_fill(stage, server, case) for server in servers]
                _alternate(stage, servers, case, partial(_consume, case), held[0], other_load)
                for server in servers:
                    drop_topic(server.port, case.topic)
            stage.log_progress(NAME, number, len(cases))
    stage.note(f"{NAME}: {other_load}")


def _alternate(
    stage: Stage, servers: Sequence[Server], case: Case, turn: Turn, records_max: int | None, other_load: OtherLoad
) -> None:
    short = stage.sizes.java_warm_bytes // case.size
    slowest = min(turn(server, short) for server in servers)
    records = int(max(short, slowest * stage.sizes.java_turn_s))
    if records_max is not None:
        records = min(records, records_max)
    for number in range(stage.sizes.java_turns):
        for server in servers if number % 2 == 0 else reversed(servers):
            os.sync()  # one server's writeback must not slow down the next
            with other_load.watching() as ours:
                clients = _cpu_of_children_s()
                rate, used_s = with_cpu_s(server.pid, turn, server, records)
                ours.append(used_s + _cpu_of_children_s() - clients)
            for measure, value in zip(case.measures, (rate / 1e3, used_s / records * 1e6), strict=True):
                stage.results.add(measure, server.name, value)
    for measure in case.measures:
        stage.log_result(measure)


def _produce(case: Case, server: Server, records: int) -> float:
    make_topic(server.port, case.topic, _PARTITIONS)
    warm_up = records // _WARM_UP_SHARE
    rate = java_clients.produce(
        server.port, case.topic, records=records, warm_up=warm_up, size=case.size, codec=case.codec
    )
    expect_records(server.port, case.topic, records, _PARTITIONS)
    drop_topic(server.port, case.topic)
    return rate


def _consume(case: Case, server: Server, records: int) -> float:
    group = f"{case.topic}-{time.monotonic_ns()}"
    return java_clients.consume(server.port, case.topic, records=records, group=group)


def _fill(stage: Stage, server: Server, case: Case) -> int:
    """Returns the number of records in the topic, which are all in the page cache."""
    letters = random.Random(case.size)
    now_ms = time.time_ns() // 1_000_000
    values = ("".join(letters.choices(string.ascii_uppercase, k=case.size)) for _ in range(_BATCH_SIZE // case.size))
    records = [Record(timestamp=now_ms, value=value.encode()) for value in values]  # as ProducerPerformance makes them
    batch = build_batch(records, codec=Codec.LZ4 if case.codec == "lz4" else Codec.NONE)
    batches = stage.sizes.java_topic_bytes // (len(records) * case.size)
    make_topic(server.port, case.topic, _PARTITIONS)
    bare_produce.pump(server.port, case.topic, batch, batches, _PARTITIONS)
    expect_records(server.port, case.topic, batches * len(records), _PARTITIONS)
    return batches * len(records)


def _cpu_of_children_s() -> float:
    """Of the clients: they have ended, and the servers have not."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


BENCHMARK = Benchmark(
    NAME, "Kafka's own performance tools for producers and consumers", run, tuple(case.title for case in CASES)
)
