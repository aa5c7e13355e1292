"""A standalone cluster on this machine: two workers do the work, and it survives the loss of one of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.testing.spark_cluster import SparkCluster

pytestmark = pytest.mark.spark

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


@pytest.mark.timeout(1000)  # five JVMs, on a machine that others use too
def test_a_cluster_works_loses_a_worker_and_leaves_nothing_behind() -> None:
    with SparkCluster(workers=2, cores=1, memory="512m") as cluster:
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
        pids = [first.pid, second.pid, *first.executors(), *second.executors()]
        logs = cluster.logs
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in pids)
    assert not logs.exists()
