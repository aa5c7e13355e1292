"""Transactions a second: one producer, one record of 100 B in each of 1 and 10 partitions, commit after commit."""

from bench.admin import make_topic
from bench.children import in_child
from bench.load import transactions
from bench.process_facts import with_cpu_s
from bench.results import Better, Measure
from bench.stage import Benchmark, Stage

NAME = "transactions"
PARTITIONS = (1, 10)
_TOPICS = {count: f"transactions-{count}" for count in PARTITIONS}
_VALUE_SIZE = 100


def _measures(partitions: int) -> tuple[Measure, ...]:
    on = f"{partitions} partition{'s' if partitions > 1 else ''}"
    return (
        Measure(NAME, f"transactions, {on}", "/s", Better.MORE, 1.0),
        Measure(NAME, f"transaction p99, {on}", "us", Better.LESS),
        Measure(NAME, f"CPU of a transaction, {on}", "us", Better.LESS),
        Measure(NAME, f"transactions by librdkafka, {on}", "/s", Better.MORE, 1.0),
    )


def run(stage: Stage) -> None:
    seconds = stage.sizes.transactions_s
    with stage.running() as servers:
        for server in servers:
            for partitions, topic in _TOPICS.items():
                make_topic(server.port, topic, partitions)
        for round_number in range(stage.sizes.rounds + 1):
            for partitions, topic in _TOPICS.items():
                for server in servers:
                    outcome, used_s = with_cpu_s(
                        server.pid, in_child, transactions.bare, server.port, topic, partitions, _VALUE_SIZE, seconds
                    )
                    cost_us = used_s / (outcome.per_s * seconds) * 1e6
                    by_librdkafka = in_child(
                        transactions.librdkafka, server.port, topic, partitions, _VALUE_SIZE, seconds
                    )
                    if round_number == 0:
                        continue  # warm now
                    values = (outcome.per_s, outcome.p99_us, cost_us, by_librdkafka)
                    for measure, value in zip(_measures(partitions), values, strict=True):
                        stage.add(measure, server.name, value)


BENCHMARK = Benchmark(NAME, "commit after commit at 1 and 10 partitions", run)
