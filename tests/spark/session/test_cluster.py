"""A standalone cluster on this machine: two workers do the work, and it survives the loss of one of them."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from barnabas.testing.spark_cluster import HOST, SparkCluster, master_state
from barnabas.testing.spark_memory import LIMIT_BYTES, PARTITIONS, VALUE_BYTES, measure

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1000)]  # seven JVMs, on a machine that others use too

# In a process of its own: the tests' own Spark is another one, and a process has one.
DRIVER = """
import json, sys
from barnabas.spark import session

# The first query waits until both executors are there.
both = {"spark.cores.max": 2, "spark.scheduler.minRegisteredResourcesRatio": 1.0}
spark = session("cluster", sys.argv[1], **{"spark.executor.memory": "512m", **both})

def pids():
    def who(batches):
        import os
        import pyarrow as pa
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"pid": [os.getppid()]})
    return sorted({row.pid for row in spark.range(0, 8, 1, 8).mapInArrow(who, "pid long").collect()})

for line in sys.stdin:
    print(json.dumps(pids()), flush=True)
spark.stop()
"""


class Driver:
    def __init__(self, master: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, master], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def python_daemons(self) -> set[int]:
        """The processes whose children ran a query's tasks."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return set(json.loads(self._process.stdout.readline()))

    def end(self) -> int:
        self._process.communicate(timeout=60)
        return self._process.returncode


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    """For all tests of this file, which leave it with two workers; it leaves nothing behind."""
    with SparkCluster(workers=2, cores=1, memory="1g") as running:
        yield running
        pids = [pid for worker in running.workers for pid in (worker.pid, *worker.executors())]
        logs = running.logs
    assert len(pids) >= 2
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in pids)
    assert not logs.exists()


def test_two_workers_work_and_one_may_be_lost(cluster: SparkCluster) -> None:
    driver = Driver(cluster.url)
    first, second = cluster.workers
    daemons = driver.python_daemons()
    assert daemons & set(first.python_workers())
    assert daemons <= {*first.python_workers(), *second.python_workers()}
    assert len(first.executors()) == len(second.executors()) == 1

    executor = first.executors()[0]
    first.kill()
    assert not first.is_running()
    assert not Path(f"/proc/{executor}/exe").exists()
    assert driver.python_daemons() <= set(second.python_workers())

    assert driver.end() == 0
    first.start()
    cluster.wait_until_registered()


def test_memory_of_workers_is_bounded(cluster: SparkCluster) -> None:
    """600 MB with a limit of 500 MB for each Python worker, and a part of it is copied. `make soak` takes 10 GB."""
    outcome = measure(cluster, 0.6, 0.05)
    assert outcome.read == [outcome.records, outcome.records * VALUE_BYTES, PARTITIONS]
    assert outcome.records * VALUE_BYTES > LIMIT_BYTES
    assert outcome.copied == 50_000
    assert len(outcome.peaks.python_workers) >= 2
    assert 10 << 20 < outcome.peaks.python_bytes < LIMIT_BYTES


class PageOnly(BaseHTTPRequestHandler):
    """A master that is about to start: whatever it is asked for, it answers with its page."""

    def do_GET(self) -> None:  # http.server calls it so
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><html></html>")

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody reads it."""


def test_a_master_that_has_only_a_page_yet_is_waited_for() -> None:
    with HTTPServer((HOST, 0), PageOnly) as server:
        threading.Thread(target=server.handle_request).start()
        assert master_state(server.server_port) is None
    assert master_state(server.server_port) is None, "nobody listens"
