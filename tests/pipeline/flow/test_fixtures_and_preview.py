"""`test` and `preview` from end to end, except for the start of Spark."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flow_world import NOON, at

from barnabas.client.cluster import Cluster
from barnabas.client.producer import Producer
from barnabas.client.properties import client_settings
from barnabas.pipeline.dead_letters.sending import replay
from barnabas.pipeline.fixtures.testing import run_cases, update_cases
from barnabas.pipeline.preview import DeadLetter, as_object, preview_in
from barnabas.pipeline.project import load
from barnabas.pipeline.project.init import init
from barnabas.records.record import Record, build_batch
from barnabas.spark.errors import UserError
from barnabas.testing import Broker
from barnabas.testing.letter_world import LetterWorld, letter, renumbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_templates_pass_their_tests_and_a_difference_is_told(spark: "SparkSession", tmp_path: Path) -> None:
    init(tmp_path / "shop", "minimal")
    assert run_cases(load(tmp_path / "shop"), spark) == {"first": []}
    init(tmp_path / "plant", "telemetry")
    assert run_cases(load(tmp_path / "plant"), spark) == {"anomalies": [], "averages": []}

    case = tmp_path / "plant" / "tests" / "averages"
    letters = [
        {"rule": "plausible", "error": "breaks the rule `plausible`: value BETWEEN -50 AND 150"},
        {"rule": None, "error": "not JSON: Expecting value at character 1"},
    ]
    (case / "dead.readings.jsonl").write_text("\n".join(map(json.dumps, letters)))
    with (case / "input.readings.jsonl").open("a") as opened:
        late = {"id": "6", "device": "d1", "at": at(1), "value": 1, "_timestamp": at(2)}
        opened.write(f'{{"_value": "no"}}\n{json.dumps(late)}\n')
    averages = case / "expect.averages.jsonl"
    averages.write_text(averages.read_text().replace("21.0", "21.5"))
    assert run_cases(load(tmp_path / "plant"), spark, ["averages"]) == {
        "averages": [
            "flow averages: 1 row differs",
            '  differs: {"device_group": "north", "minute": "2026-01-01T12:00:00.000Z", "readings": 2}',
            "    average  expected 21.5, actual 21.0",
        ]
    }
    averages.write_text('{"average": "high"}\n')
    (problems,) = run_cases(load(tmp_path / "plant"), spark, ["averages"]).values()
    assert problems[0] == "tests/averages/expect.averages.jsonl:1:1: this row does not match the columns' types"
    averages.write_text('{"avrage": 1}\n')
    (problems,) = run_cases(load(tmp_path / "plant"), spark, ["averages"]).values()
    assert problems[0].endswith("1:1: `averages` has no column `avrage`")
    assert problems[-1] == "hint: did you mean `average`?"


def test_an_update_writes_what_came_where_it_differs(spark: "SparkSession", tmp_path: Path) -> None:
    init(tmp_path / "plant", "telemetry")
    project = load(tmp_path / "plant")
    tests = tmp_path / "plant" / "tests"
    assert update_cases(project, spark) == {"anomalies": [], "averages": []}
    averages = tests / "averages" / "expect.averages.jsonl"
    good = sorted(json.loads(line)["average"] for line in averages.read_text().splitlines())
    averages.write_text('{"avrage": 1}\n')
    (tests / "averages" / "dead.readings.jsonl").write_text('{"rule": "other"}\n')
    (tests / "new").mkdir()
    (tests / "new" / "input.readings.jsonl").write_text((tests / "anomalies" / "input.readings.jsonl").read_text())
    files = update_cases(project, spark)
    assert files["averages"] == [
        f"tests/averages/expect.averages.jsonl: {len(good)} rows",
        "tests/averages/dead.readings.jsonl: 1 row",
    ]
    assert [file.partition(":")[0] for file in files["new"]] == [
        f"tests/new/expect.{flow}.jsonl" for flow in ("averages", "anomalies", "history")
    ]
    assert sorted(json.loads(line)["average"] for line in averages.read_text().splitlines()) == good
    assert (tests / "averages" / "dead.readings.jsonl").read_text() == '{"rule": "plausible"}\n'
    assert run_cases(project, spark) == {"anomalies": [], "averages": [], "new": []}


def test_a_preview_shows_what_becomes_of_the_last_records(spark: "SparkSession", tmp_path: Path) -> None:
    init(tmp_path / "plant", "telemetry")
    with Broker() as broker:
        project = load(tmp_path / "plant", environment={"BARNABAS_BOOTSTRAP_SERVER": broker.bootstrap_servers})
        with pytest.raises(UserError, match="There is no topic telemetry"):
            preview_in(spark, project, flow=None, rows=2)
        broker.create_topic("telemetry", partitions=2)
        assert preview_in(spark, project, flow="anomalies", rows=5).rows == {"anomalies": []}
        _fill(broker)
        found = preview_in(spark, project, flow=None, rows=3)

        assert set(found.rows) == {"averages", "anomalies", "history"}
        assert sorted(row["id"] for row in found.rows["history"]) == ["3", "4", "5"]
        assert found.columns["anomalies"] == ["device", "device_group", "at", "value"]
        summary = found.sources["readings"]
        assert (summary.records, summary.rows, summary.late, summary.duplicates) == (6, 3, 1, 1)
        assert summary.dead == (DeadLetter(1, 2, 'column `value`: "x" is not a DOUBLE'),)
        assert json.loads(json.dumps(as_object(found)))["sources"]["readings"]["dead"][0]["offset"] == 2
        assert not (tmp_path / "plant" / ".barnabas").exists()


def test_a_preview_after_dead_letters_were_sent_again(spark: "SparkSession", tmp_path: Path) -> None:
    """Those have headers, and the records before them have none; the marker of their transaction takes an offset."""
    with Broker() as broker:
        broker.create_topic("notes", partitions=2)
        broker.create_topic("notes.dead")
        world = LetterWorld(broker.bootstrap_servers, "notes", tmp_path)
        for partition in (0, 1):
            _produce(broker, "notes", partition, [Record(0, _TOOK_MS, None, b"note")] * 27)
        letters = [letter(n, topic="notes", origin="other", timestamp_ms=_TOOK_MS, partition=n % 2) for n in range(6)]
        world.write_letters(renumbered(letters))
        assert replay(world.project, origin=None, version="v1", dry_run=False).sent == {"other": 6}

        found = preview_in(spark, world.project, flow="other", rows=20)
    assert Counter(row["value"] for row in found.rows["other"]) == Counter({"note": 34, **dict.fromkeys("012345", 1)})


_TOOK_MS = int((NOON + timedelta(seconds=10)).timestamp() * 1000)
"""When the log took the records."""


def _fill(broker: Broker) -> None:
    _produce(broker, "telemetry", 0, [_reading(1), _reading(2), _reading(3), _reading(4), _reading(4)])
    _produce(broker, "telemetry", 1, [_reading(5), _reading(6, minutes=-60), _reading(7, value="x")])


def _reading(number: int, minutes: float = 0, value: object = 50.0) -> Record:
    row = {"id": str(number), "device": f"d{number % 3 + 1}", "at": at(minutes), "value": value}
    return Record(0, _TOOK_MS, None, json.dumps(row).encode())


def _produce(broker: Broker, topic: str, partition: int, records: list[Record]) -> None:
    settings = client_settings({"bootstrap.servers": broker.bootstrap_servers})
    with Cluster(settings) as cluster, Producer(cluster) as producer:
        producer.send(topic, partition, bytearray(build_batch(records)))
