"""The driver is killed while it works, and the next run continues: every row is written once to every output."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from run_world import committed, produce, project, rows

from barnabas.pipeline import status as statuses
from barnabas.pipeline.flow import dead_letter_headers as headers
from barnabas.pipeline.project import load
from barnabas.pipeline.run import run
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.crash, pytest.mark.timeout(600)]

YAML = """\
name: shop
log: {{bootstrap: "{bootstrap}"}}
spark:
  master: local[2]
  conf: {{spark.driver.memory: 1g, spark.sql.shuffle.partitions: 2}}
sources:
  orders:
    topic: orders
    format: json
    schema: "id INT, amount DOUBLE"
    options: {{maxOffsetsPerTrigger: 60}}
    expect:
      paid: {{rule: "amount > 0", otherwise: dead-letter}}
flows:
  totals:
    sql: SELECT id % 3 AS kind, count(*) AS orders FROM orders GROUP BY 1
    output: {{topic: totals, key: kind, mode: update}}
  kept:
    sql: SELECT id, id % 3 AS kind FROM orders
    output: {{table: tables/kept, partition_by: kind}}
"""
ORDERS = 1200
FLOWS = {"totals", "kept", "orders.dead"}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        running.create_topic("orders", partitions=2)
        yield running


def start(folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "barnabas", "pipeline", "run", "--project", str(folder)]
    with (folder / "run.log").open("ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


def wait_until(condition: Callable[[], bool], running: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert running.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.05)


def test_every_row_comes_out_once(spark: "SparkSession", broker: Broker, tmp_path: Path) -> None:
    project(tmp_path, broker, YAML)
    for partition in (0, 1):
        numbers = range(partition, ORDERS, 2)
        orders: list[Any] = [{"id": each, "amount": -1.0 if each % 20 in (0, 1) else 1.0} for each in numbers]
        produce(broker, "orders", orders, partition=partition)

    state, log = tmp_path / ".barnabas/v1", tmp_path / "run.log"
    running = start(tmp_path)
    try:
        wait_until(lambda: all_have_begun(state), running, log)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        counted = {row["kind"]: row["orders"] for row in rows(broker, "totals")}
        assert sum(counted.values()) < ORDERS * 18 / 20, "it was killed too late"
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()

    overrides = ["sources.orders.options.maxOffsetsPerTrigger=1000"]
    run(load(tmp_path, overrides=overrides, environment={}), once=True, spark=spark, say=lambda _: None)
    good = [number for number in range(ORDERS) if number % 20 not in (0, 1)]
    assert table(tmp_path / "tables/kept") == Counter((number, number % 3) for number in good)
    check_updates(rows(broker, "totals"), good)
    places = [
        tuple(value.decode() for name, value in letter.headers if name in (headers.PARTITION, headers.OFFSET) and value)
        for letter in committed(broker, "shop.dead-letters")
    ]
    bad = [number for number in range(ORDERS) if number % 20 in (0, 1)]
    assert Counter(places) == Counter((str(number % 2), str(number // 2)) for number in bad)


def all_have_begun(state: Path) -> bool:
    """All have finished a batch, so each is in the middle of a later one, or between two."""
    status = statuses.read(state)
    return status is not None and {flow.name for flow in status.flows if flow.batch_id is not None} == FLOWS


def check_updates(updates: list[dict[str, int]], good: list[int]) -> None:
    """Counts grow from one update to the next; a batch that was written twice would repeat one of them."""
    for kind in range(3):
        counts = [row["orders"] for row in updates if row["kind"] == kind]
        assert len(set(counts)) == len(counts)
        assert max(counts) == sum(1 for number in good if number % 3 == kind)


def table(folder: Path) -> Counter[tuple[int, int]]:
    """Read without Spark's own list of files, like other tools do."""
    files = [file for file in folder.rglob("*.parquet") if "_spark_metadata" not in file.parts]
    found: Counter[tuple[int, int]] = Counter()
    for file in files:
        kind = int(file.parent.name.removeprefix("kind="))
        found.update((number, kind) for number in pq.ParquetFile(file).read().column("id").to_pylist())
    return found
