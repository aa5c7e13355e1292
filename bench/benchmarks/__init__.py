"""One module per benchmark; `BENCHMARKS` is their order in a full run."""

from bench.benchmarks import (
    connections,
    end_to_end,
    group_load,
    java_clients,
    long_log,
    loop_lag,
    memory,
    partitions,
    recovery,
    requests,
    round_trips,
    startup,
    throughput,
    transactions,
)
from bench.stage import Benchmark

BENCHMARKS: tuple[Benchmark, ...] = (
    throughput.BENCHMARK,
    round_trips.BENCHMARK,
    requests.BENCHMARK,
    java_clients.BENCHMARK,
    end_to_end.BENCHMARK,
    startup.BENCHMARK,
    memory.BENCHMARK,
    recovery.BENCHMARK,
    partitions.BENCHMARK,
    long_log.BENCHMARK,
    connections.BENCHMARK,
    group_load.BENCHMARK,
    transactions.BENCHMARK,
    loop_lag.BENCHMARK,
)
