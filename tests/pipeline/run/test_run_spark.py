"""Runs with Spark: output, status, and mistakes that only Spark can find. One session serves all."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from run_world import YAML, cluster_of, committed, produce, project, rows

from barnabas.client.group_offsets import fetch_offsets
from barnabas.pipeline import status as statuses
from barnabas.pipeline.run import run
from barnabas.pipeline.status import Health, State, Status
from barnabas.spark.errors import UserError
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOLD = """\
name: shop
log: {{bootstrap: "{bootstrap}"}}
sources:
  orders:
    topic: orders
    format: json
    schema: "id STRING, amount DOUBLE"
    expect:
      paid: {{rule: "amount > 0", otherwise: dead-letter}}
      usual: {{rule: "amount < 1000", otherwise: warn}}
flows:
  totals:
    sql: SELECT substr(id, 1, 1) AS kind, sum(amount) AS total, count(*) AS orders FROM orders GROUP BY 1
    output: {{topic: totals, key: kind, mode: update}}
  kept:
    sql: SELECT *, substr(id, 1, 1) AS kind FROM orders
    output: {{table: tables/kept, partition_by: kind}}
  large:
    sql: sql/large.sql
    output: {{topic: large, key: id}}
"""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("orders", partitions=2)
        yield running


def table(spark: "SparkSession", path: Path) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in spark.read.parquet(str(path)).select("id", "amount", "kind").collect())


def test_two_runs_and_a_change(spark: "SparkSession", broker: Broker, tmp_path: Path) -> None:
    said: list[str] = []
    shown: list[Status] = []
    first = [{"id": "a1", "amount": 5.0}, {"id": "a2", "amount": 100.0}, {"id": "b1", "amount": 2000.0}]
    produce(broker, "orders", first)
    produce(broker, "orders", [{"id": "c1", "amount": -1.0}, "no JSON"], partition=1)
    found = project(tmp_path, broker, SOLD)
    last = run(found, once=True, spark=spark, say=said.append, show=shown.append)

    assert [flow.name for flow in last.flows] == ["totals", "kept", "large", "orders.dead"]
    assert {flow.state for flow in last.flows} == {State.FINISHED}
    assert statuses.read(found.state_folder("v1")) == last == shown[-1]
    large = next(flow for flow in last.flows if flow.name == "large")
    assert (large.input_rows, large.output_rows, large.lag, large.dead_rows) == (5, 2, 0, 2)
    assert large.broken_rules == {"orders.paid": 1, "orders.usual": 1}
    assert {"Created the topic totals", "Created the topic shop.dead-letters"} <= set(said)
    assert rows(broker, "large") == [{"id": "a2", "amount": 100.0}, {"id": "b1", "amount": 2000.0}]
    assert {record.key for record in committed(broker, "large")} == {b"a2", b"b1"}
    with cluster_of(broker) as cluster:
        offsets = fetch_offsets(cluster, "barnabas.shop.v1.large", [("orders", 0), ("orders", 1)])
    assert {place[1]: found.offset for place, found in offsets.items()} == {0: 3, 1: 2}

    produce(broker, "orders", [{"id": "a3", "amount": 1.0}])
    run(found, once=True, spark=spark, say=said.append)
    totals = [(row["kind"], row["total"], row["orders"]) for row in rows(broker, "totals")]
    assert sorted(totals) == [("a", 105.0, 2), ("a", 106.0, 3), ("b", 2000.0, 1)], "each row once, when it changed"
    assert len(committed(broker, "shop.dead-letters")) == 2
    expected = Counter([("a1", 5.0, "a"), ("a2", 100.0, "a"), ("b1", 2000.0, "b"), ("a3", 1.0, "a")])
    assert table(spark, tmp_path / "tables/kept") == expected

    with pytest.raises(UserError, match=f"v1 of the pipeline `shop` is run from another folder, {tmp_path} on"):
        run(project(tmp_path / "elsewhere", broker, SOLD), once=True, spark=spark, say=said.append)

    drifted = SOLD.replace("SELECT *, substr", "SELECT id, string(amount) AS amount, substr")
    with pytest.raises(UserError, match="--accept-changes"):
        run(project(tmp_path, broker, drifted), once=True, spark=spark, say=said.append)
    with pytest.raises(UserError, match="amount double became string"):
        run(project(tmp_path, broker, drifted), once=True, accept_changes=True, spark=spark, say=said.append)


def test_a_broker_that_is_gone_is_told_until_it_is_back(spark: "SparkSession", broker: Broker, tmp_path: Path) -> None:
    produce(broker, "orders", [{"id": "a", "amount": 100.0}])
    seen: list[Health] = []

    def act(status: Status) -> bool:
        """Stop the broker when everything is read, and restart it when the status shows that."""
        states = {flow.state for flow in status.flows}
        if not seen and all(flow.lag == 0 for flow in status.flows) and states == {State.WAITING}:
            broker.stop()
            seen.append(statuses.health(status))
        elif seen == [Health.RUNNING] and states == {State.BLOCKED}:
            assert all("cannot reach" in (flow.last_error or "") for flow in status.flows)
            broker.start()
            seen.append(statuses.health(status))
        elif len(seen) == 2 and states == {State.WAITING}:
            seen.append(statuses.health(status))
        return len(seen) == 3

    last = run(project(tmp_path, broker), spark=spark, say=lambda _: None, should_stop=act)
    assert seen == [Health.RUNNING, Health.DEGRADED, Health.RUNNING]
    assert {flow.state for flow in last.flows} == {State.STOPPED}
    assert not any(flow.restarts for flow in last.flows), "the queries have only waited"


def test_one_flow_fails_and_the_others_go_on(spark: "SparkSession", broker: Broker, tmp_path: Path) -> None:
    yaml = YAML + (
        "  strict:\n    sql: SELECT * FROM orders\n    output: {{topic: strict}}\n"
        '    expect: {{paid: {{rule: "amount > 0", otherwise: fail}}}}\n'
    )
    produce(broker, "orders", [{"id": "a", "amount": 100.0}, {"id": "b", "amount": -1.0}])
    said: list[str] = []
    with pytest.raises(UserError) as failure:
        run(project(tmp_path, broker, yaml), once=True, spark=spark, say=said.append)
    assert "1 of 3 queries failed; the other 2 ended without errors" in failure.value.message
    assert "paid" in failure.value.message
    assert "Exception" not in failure.value.message
    assert rows(broker, "large") == [{"id": "a", "amount": 100.0}]
    assert rows(broker, "strict") == []
    last = statuses.read(tmp_path / ".barnabas/v1")
    assert last is not None
    assert {flow.name: flow.state for flow in last.flows} == {
        "large": State.FINISHED,
        "strict": State.FAILED,
        "orders.dead": State.FINISHED,
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sql: sql/large.sql", "sql: SELECT id, amuont FROM orders", "amuont"),
        ("sql: sql/large.sql", "sql: SELECT id FROM orders WEHRE amount > 1", "flow `large`: Syntax error"),
        ("key: id", "key: name", "has `key: name`, and the flow has no such column"),
        ("{{topic: large, key: id}}", "{{table: t, partition_by: day}}", "has `partition_by: day`"),
        ("key: id", "format: text", "takes the column `value`, and there is none"),
        ("{{topic: large, key: id}}", '{{table: "file:///usr"}}', "has files that it did not write"),
        (
            "sql: sql/large.sql",
            "sql: SELECT id, count(*) FROM orders GROUP BY id",
            "cannot run as a stream with `mode: append`",
        ),
    ],
)
def test_mistakes_before_anything_runs(
    spark: "SparkSession", broker: Broker, tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(UserError) as refusal:
        run(project(tmp_path, broker, YAML.replace(old, new)), once=True, spark=spark, say=lambda _: None)
    assert message in refusal.value.message
    assert "\tat " not in str(refusal.value)
    assert "WEHRE" not in new or refusal.value.hint == "did you mean WHERE instead of WEHRE?"
    with cluster_of(broker) as cluster:
        assert "large" not in cluster.topics()
    assert not list(tmp_path.glob(".barnabas/v1/*/checkpoint"))
