"""Measures the memory of Spark's workers while they read and copy a topic that is much larger than their memory.

    python -m barnabas.testing.spark_memory --gigabytes 10

It starts a broker, a standalone cluster of two workers with one core and 1 GB each, and two queries: one counts all
records and adds up their lengths, one copies a part of them to another topic. The peak resident memory (VmHWM) of each
process is read while they run. The results are checked, so that a reader that skips records does not pass.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.portable.processes import memory_bytes
from barnabas.testing.broker import Broker
from barnabas.testing.spark_cluster import SparkCluster, SparkWorker

VALUE_BYTES = 1000
PARTITIONS = 4
LIMIT_BYTES = 500 << 20
"""The limit for one Python worker, whatever the size of the topic."""
_SAMPLE_EVERY_S = 0.5
"""The system remembers peaks, so few samples will do; each of them reads all of /proc."""

DRIVER = """
import json, sys, time
from barnabas.spark import session

master, broker, partitions, copied = sys.argv[1:]
both = {"spark.cores.max": 2, "spark.scheduler.minRegisteredResourcesRatio": 1.0}
spark = session("memory", master, **{"spark.executor.memory": "1g", "spark.driver.memory": "1g", **both})
reader = spark.read.format("barnabas").option("kafka.bootstrap.servers", broker).option("subscribe", "large")

start = time.monotonic()
row = reader.load().selectExpr("count(*)", "sum(length(value))", "count(distinct partition)").first()
print(json.dumps(["read", list(row), time.monotonic() - start]), flush=True)

start = time.monotonic()
ends = json.dumps({"large": {str(partition): int(copied) for partition in range(int(partitions))}})
rows = reader.option("endingOffsets", ends).load().select("key", "value")
rows.write.format("barnabas").option("kafka.bootstrap.servers", broker).option("topic", "copy").mode("append").save()
copy = spark.read.format("barnabas").option("kafka.bootstrap.servers", broker).option("subscribe", "copy").load()
print(json.dumps(["copied", [copy.count()], time.monotonic() - start]), flush=True)
spark.stop()
"""


@dataclass
class Peaks:
    """The peak resident memory of any one process, in bytes."""

    python_bytes: int = 0
    executor_bytes: int = 0
    python_workers: set[int] = field(default_factory=set)

    def look(self, workers: list[SparkWorker]) -> None:
        for worker in workers:
            for pid in worker.python_workers():
                self.python_workers.add(pid)
                self.python_bytes = max(self.python_bytes, memory_bytes(pid))
            for pid in worker.executors():
                self.executor_bytes = max(self.executor_bytes, memory_bytes(pid))


@dataclass(frozen=True)
class Outcome:
    records: int
    """The number of records in the topic."""
    read: list[int]
    """Records, bytes of values and partitions, as counted by the query."""
    copied: int
    peaks: Peaks
    read_s: float
    copy_s: float


def measure(
    cluster: SparkCluster, gigabytes: float, copied_gigabytes: float, *, data_dir: Path | None = None
) -> Outcome:
    """On a cluster with 1 GB of memory for each worker."""
    per_partition = int(gigabytes * 1e9) // VALUE_BYTES // PARTITIONS
    to_copy = min(per_partition, int(copied_gigabytes * 1e9) // VALUE_BYTES // PARTITIONS)
    with Broker(process=True, data_dir=data_dir) as broker:
        broker.create_topic("large", PARTITIONS)
        broker.create_topic("copy", PARTITIONS)
        fill(broker.bootstrap_servers, per_partition)
        peaks = Peaks()
        said: dict[str, tuple[list[int], float]] = {}
        for what, numbers, seconds in _run_driver(cluster, broker.bootstrap_servers, to_copy, peaks):
            said[what] = numbers, seconds
    return Outcome(
        per_partition * PARTITIONS, said["read"][0], said["copied"][0][0], peaks, said["read"][1], said["copied"][1]
    )


def fill(bootstrap_servers: str, per_partition: int) -> None:
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "linger.ms": 50,
            "batch.size": 500_000,
            "queue.buffering.max.kbytes": 200_000,
        }
    )
    value = b"x" * VALUE_BYTES
    for _ in range(per_partition):
        for partition in range(PARTITIONS):
            while True:
                try:
                    producer.produce("large", value, partition=partition)
                    break
                except BufferError:
                    producer.poll(0.05)
    left = producer.flush(300)
    if left:
        raise RuntimeError(f"{left} records could not be written in time")


def _run_driver(
    cluster: SparkCluster, bootstrap_servers: str, to_copy: int, peaks: Peaks
) -> Iterator[tuple[str, list[int], float]]:
    command = [sys.executable, "-c", DRIVER, cluster.url, bootstrap_servers, str(PARTITIONS), str(to_copy)]
    with _started(command) as driver:
        while True:
            try:
                driver.wait(_SAMPLE_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                peaks.look(cluster.workers)
        assert driver.stdout is not None
        if driver.returncode != 0:
            raise RuntimeError(f"the query ended with status {driver.returncode}; see its output above")
        for line in driver.stdout:
            what, numbers, seconds = json.loads(line)
            yield what, numbers, seconds


@contextmanager
def _started(command: list[str]) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m barnabas.testing.spark_memory", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--gigabytes", type=float, default=10.0, help="size of the topic (default: 10)")
    parser.add_argument("--copied", type=float, default=2.0, help="how much of it is copied too (default: 2)")
    parser.add_argument("--data-dir", type=Path, help="where the broker keeps it (default: a temporary directory)")
    arguments = parser.parse_args()
    began = time.monotonic()
    with SparkCluster(workers=2, cores=1, memory="1g") as cluster:
        outcome = measure(cluster, arguments.gigabytes, arguments.copied, data_dir=arguments.data_dir)
    peaks = outcome.peaks
    read, size, _ = outcome.read
    workers = len(peaks.python_workers)
    print(f"records in the topic           {outcome.records:,}")
    print(f"records read                   {read:,}, {size:,} bytes of values, in {outcome.read_s:.0f} s")
    print(f"records copied                 {outcome.copied:,} in {outcome.copy_s:.0f} s")
    print(f"most memory of a Python worker {peaks.python_bytes >> 20:,} MB, of {workers} workers")
    print(f"most memory of an executor     {peaks.executor_bytes >> 20:,} MB")
    print(f"all in {time.monotonic() - began:.0f} s")
    complete = outcome.read == [outcome.records, outcome.records * VALUE_BYTES, PARTITIONS]
    if not complete or peaks.python_bytes >= LIMIT_BYTES:
        print(f"error: {'too much memory' if complete else 'not all records were read'}", file=sys.stderr)
        print("hint: repeat it with fewer --gigabytes to see whether the memory grows with the topic", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
