"""A real streaming query with monitoring: its group, its checkpoint, the JSON and the metrics agree."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from barnabas.client.cluster import Cluster
from barnabas.client.group_offsets import fetch_offsets
from barnabas.client.properties import client_settings
from barnabas.spark.query.progress import read_offsets
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.spark import Watch

pytestmark = pytest.mark.spark

T = TypeVar("T")
PATIENCE_S = 60.0


def wait_for(look: Callable[[], T], right: Callable[[T], bool]) -> T:
    deadline = time.monotonic() + PATIENCE_S
    while not right(found := look()):
        assert time.monotonic() < deadline, f"still {found}"
        time.sleep(0.05)
    return found


class Gate:
    """Holds each batch until the test lets one pass."""

    def __init__(self) -> None:
        self._open = threading.Semaphore(0)
        self.values: list[str] = []

    def __call__(self, batch: "DataFrame", batch_id: int) -> None:
        assert self._open.acquire(timeout=PATIENCE_S)
        self.values += [row.value.decode() for row in batch.select("value").collect()]

    def let_pass(self, count: int = 1) -> None:
        self._open.release(count)


class World:
    def __init__(self, broker: Broker, topic: str, home: Path) -> None:
        self.broker = broker
        self.topic = topic
        self.group = f"{topic}-billing"
        self.checkpoint = home / "checkpoint"
        broker.create_topic(topic, partitions=2)

    def produce(self, numbers: range) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        for number in numbers:
            producer.produce(self.topic, str(number), partition=number % 2)
        assert producer.flush(10) == 0

    def frame(self, spark: "SparkSession", **options: object) -> "DataFrame":
        stream = (
            spark.readStream.format("barnabas")
            .option("kafka.bootstrap.servers", self.broker.bootstrap_servers)
            .option("kafka.group.id", self.group)
            .option("subscribe", self.topic)
            .option("startingOffsets", "earliest")
        )
        for name, value in options.items():
            stream = stream.option(name, str(value))
        return stream.load()

    def start(self, spark: "SparkSession", gate: Gate, *, available_now: bool = False, **options: object) -> Any:
        writer = self.frame(spark, **options).writeStream.queryName(self.group).foreachBatch(gate)
        if available_now:
            writer = writer.trigger(availableNow=True)
        return writer.option("checkpointLocation", str(self.checkpoint)).start()

    def committed(self) -> dict[tuple[str, int], int]:
        with Cluster(client_settings({"bootstrap.servers": self.broker.bootstrap_servers})) as cluster:
            found = fetch_offsets(cluster, self.group, None)
        return {place: one.offset for place, one in found.items()}

    def in_checkpoint(self) -> dict[tuple[str, int], int]:
        """The end of the last batch that Spark has committed."""
        done = max(int(path.name) for path in (self.checkpoint / "commits").iterdir() if path.name.isdecimal())
        return read_offsets((self.checkpoint / "offsets" / str(done)).read_text().splitlines()[2])

    def tool(self, *words: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-m", "barnabas", *words],
            env={**os.environ, "BARNABAS_BOOTSTRAP_SERVER": self.broker.bootstrap_servers, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture
def world(barnabas_broker: Broker, barnabas_topic: str, tmp_path: Path) -> World:
    return World(barnabas_broker, barnabas_topic, tmp_path)


@pytest.fixture
def watched(spark: "SparkSession", tmp_path: Path) -> "Iterator[Watch]":
    from barnabas.spark import watch

    with watch(spark, port=0, json_file=tmp_path / "queries.json", refresh_s=0.2) as watching:
        yield watching


def query_of(watched: "Watch", world: World, path: Path) -> dict[str, Any] | None:
    """From the server and the file; None before there is any."""
    with urllib.request.urlopen(f"http://127.0.0.1:{watched.port}/queries", timeout=10) as answer:
        served = json.loads(answer.read())
    written = json.loads(path.read_text()) if path.exists() else {"queries": []}
    names = [query["query"] for query in written["queries"]]
    found = [query for query in served["queries"] if query["query"] == world.group]
    return found[0] if found and world.group in names else None


def metrics_of(watched: "Watch", world: World) -> dict[tuple[str, str], float]:
    """Values by name and partition."""
    with urllib.request.urlopen(f"http://127.0.0.1:{watched.port}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return {
        (sample.name, sample.labels.get("partition", "")): sample.value
        for family in families
        for sample in family.samples
        if world.group in (sample.labels.get("query"), sample.labels.get("consumergroup"))
    }


def test_operators_see_each_batch(spark: "SparkSession", watched: "Watch", world: World, tmp_path: Path) -> None:
    world.produce(range(30))
    gate = Gate()
    query = world.start(spark, gate, maxOffsetsPerTrigger=10)

    def seen() -> tuple[int | None, int]:
        found = query_of(watched, world, tmp_path / "queries.json")
        return (None, -1) if found is None else (found["batch_id"], found["sources"][0]["lag"])

    try:
        # The first batch has not ended: the start is in the group, and so is the lag.
        wait_for(seen, lambda found: found == (None, 30))
        assert world.committed() == {(world.topic, 0): 0, (world.topic, 1): 0}
        metrics = metrics_of(watched, world)
        assert metrics["kafka_consumergroup_lag", "0"] == 15
        assert 0 < metrics["barnabas_query_backlog_age_seconds", "0"] < PATIENCE_S
        for batch_id, lag in ((0, 20), (1, 10), (2, 0)):
            gate.let_pass()
            wait_for(seen, lambda found, wanted=(batch_id, lag): found == wanted)  # type: ignore[misc]
            assert world.committed() == world.in_checkpoint()
            assert sum(world.committed().values()) == 30 - lag
            metrics = metrics_of(watched, world)
            assert metrics["kafka_consumergroup_lag", "0"] + metrics["kafka_consumergroup_lag", "1"] == lag
            assert (metrics["barnabas_query_backlog_age_seconds", "0"] > 0) == (lag > 0)
            (described,) = json.loads(world.tool("group", "describe", world.group, "--format", "json"))
            assert described["lag"] == lag
        assert sorted(map(int, gate.values)) == list(range(30))
        assert metrics["barnabas_query_rows_total", ""] == 30
        assert metrics["barnabas_query_running", ""] == 1

        table = world.tool(
            "kafka-consumer-groups", "--bootstrap-server", world.broker.bootstrap_servers,
            "--describe", "--group", world.group,
        )  # fmt: skip
        rows = [line.split() for line in table.splitlines() if line.startswith(world.group)]
        assert sorted(row[:6] for row in rows) == [
            [world.group, world.topic, str(partition), "15", "15", "0"] for partition in (0, 1)
        ]
    finally:
        gate.let_pass(10)
        query.stop()
    ended = wait_for(
        lambda: query_of(watched, world, tmp_path / "queries.json"), lambda found: found["state"] != "running"
    )
    assert (ended["state"], ended["error"]) == ("stopped", None)
    assert metrics_of(watched, world)["barnabas_query_running", ""] == 0


def test_the_last_batch_is_in_the_group_when_a_query_has_ended(spark: "SparkSession", world: World) -> None:
    """Spark tells a source that a batch is done when the next one starts, so never for the last one."""
    from barnabas.spark import watch

    world.produce(range(20))
    gate = Gate()
    gate.let_pass(10)
    options: dict[str, object] = {"maxOffsetsPerTrigger": 10}
    world.start(spark, gate, available_now=True, **options).awaitTermination()
    unwatched = world.committed()
    world.produce(range(20, 40))
    with watch(spark):
        world.start(spark, gate, available_now=True, **options).awaitTermination()
    assert sum(world.in_checkpoint().values()) == 40
    assert world.committed() == world.in_checkpoint()
    assert sum(unwatched.values()) == 10, "one batch behind"
    assert sorted(map(int, gate.values)) == list(range(40))


def test_a_start_that_has_read_nothing_is_remembered(spark: "SparkSession", watched: "Watch", world: World) -> None:
    world.produce(range(6))
    gate = Gate()
    gate.let_pass(10)
    latest = {(world.topic, 0): 3, (world.topic, 1): 3}
    query = world.start(spark, gate, startingOffsets="latest")
    wait_for(world.committed, lambda found: found == latest)
    query.stop()
    world.produce(range(6, 10))
    # Spark has written down nothing that it could go on from, so it asks again where "latest" is; the group knows. It
    # may have been about to write, and does not take a checkpoint with the rest of that.
    shutil.rmtree(world.checkpoint, ignore_errors=True)
    world.start(spark, gate, available_now=True, startingOffsets="latest").awaitTermination()
    assert sorted(map(int, gate.values)) == [6, 7, 8, 9]


def test_a_query_that_fails_says_why(spark: "SparkSession", watched: "Watch", world: World, tmp_path: Path) -> None:
    world.produce(range(2))

    def refuse(batch: "DataFrame", batch_id: int) -> None:
        raise RuntimeError("the till is closed")

    query = world.start(spark, refuse)  # type: ignore[arg-type]
    ended = wait_for(
        lambda: query_of(watched, world, tmp_path / "queries.json"),
        lambda found: bool(found) and found["state"] != "running",
    )
    assert ended["state"] == "failed"
    assert ended["error"] == "RuntimeError: the till is closed"
    assert not query.isActive


def test_a_query_that_runs_already_is_watched_too(spark: "SparkSession", world: World) -> None:
    from barnabas.spark import watch

    world.produce(range(4))
    gate = Gate()
    gate.let_pass(10)
    query = world.start(spark, gate)
    try:
        query.processAllAvailable()
        with watch(spark) as watching:
            wait_for(
                lambda: [view.sources[0].lag for view in watching.views() if view.name == world.group],
                lambda lags: lags == [0],
            )
            assert sum(world.committed().values()) == 4
    finally:
        query.stop()


def test_each_source_of_a_query_is_found_in_its_place(
    spark: "SparkSession", world: World, barnabas_broker: Broker, tmp_path: Path
) -> None:
    """A DataFrame used twice is one source for Spark, and there is a source of another kind between ours."""
    from barnabas.spark import watch

    other = World(barnabas_broker, f"{world.topic}-other", tmp_path)
    world.produce(range(4))
    other.produce(range(10))
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "one.txt").write_text("a line\n")
    ours, theirs = world.frame(spark), other.frame(spark)
    lines = spark.readStream.text(str(tmp_path / "lines")).selectExpr("CAST(value AS BINARY) AS value")
    both = ours.select("value").union(lines).union(theirs.select("value")).union(ours.select("value"))
    with watch(spark) as watching:
        query = (
            both.writeStream.queryName(world.group)
            .format("noop")
            .trigger(availableNow=True)
            .option("checkpointLocation", str(tmp_path / "both"))
            .start()
        )
        query.awaitTermination()
    (view,) = [view for view in watching.views() if view.name == world.group]
    assert [(source.index, source.group_id) for source in view.sources] == [(0, world.group), (2, other.group)]
    assert world.committed() == {(world.topic, 0): 2, (world.topic, 1): 2}
    assert other.committed() == {(other.topic, 0): 5, (other.topic, 1): 5}


def test_what_cannot_be_served_or_written_is_told(spark: "SparkSession", watched: "Watch", tmp_path: Path) -> None:
    from barnabas.spark import UserError, watch

    with pytest.raises(UserError, match="choose another port"):
        watch(spark, port=watched.port)
    with pytest.raises(UserError, match="There is no directory"):
        watch(spark, json_file=tmp_path / "nowhere" / "queries.json")
