"""A project in batch mode: every format, every outcome of a row, and dead letters. Few queries, many checks."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flow_world import READINGS, at, batch_of, letters_of

from barnabas.pipeline.flow import batch
from barnabas.pipeline.flow.decode_avro import AvroReader
from barnabas.pipeline.flow.mistakes import in_flows
from barnabas.pipeline.flow.plan import Plan, plan
from barnabas.pipeline.flow.streamable import unstreamable
from barnabas.pipeline.project import Project, load
from barnabas.spark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JUDGED = (
    READINGS
    + """\
    late: {column: at, after: 30 seconds}
    watermark: {column: at, delay: 1 minute}
    deduplicate: {by: [id], within: 10 minutes}
    expect:
      wanted: {rule: "value <> 13", otherwise: drop}
      plausible: {rule: "value < 100 -- or so", otherwise: dead-letter}
      named: {rule: "device <> ''", otherwise: dead-letter}
flows:
  doubled:
    python: flows/doubled.py:doubled
    output: {topic: doubled, key: id}
    expect:
      even: {rule: "twice % 4 = 0", otherwise: dead-letter}
  seen:
    sql: SELECT id, _offset AS place FROM readings
"""
)
DOUBLED = """\
from factors import FACTOR
from pyspark.sql.functions import udf

@udf("double")
def times(value):
    return value * FACTOR

def doubled(readings, spark):
    import factors

    assert spark is not None
    assert factors.FACTOR == FACTOR
    return readings.select("id", times("value").alias("twice"), "_topic", "_partition", "_offset")
"""


def made(folder: Path, spark: "SparkSession", yaml: str, batches: dict[str, Any], **files: str) -> tuple[Project, Plan]:
    (folder / "flows").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "flows" / f"{name}.py").write_text(text)
    (folder / "pipeline.yaml").write_text(yaml)
    project = load(folder)
    return project, plan(
        project, spark, lambda source: batch.records(spark, [batches[source.name]]), streaming=False, version="v2"
    )


def row(id_: str | None, minutes: float, value: object = 2.0, **more: object) -> str:
    return json.dumps({"id": id_, "device": "d", "at": at(minutes), "value": value, **more})


def test_every_record_is_kept_dropped_late_a_duplicate_or_dead(spark: "SparkSession", tmp_path: Path) -> None:
    records = [
        row("a", 0),  # 0: kept
        row("a", 5),  # 1: the same within ten minutes
        row("b", 0, 13),  # 2: dropped
        row("c", 0, 500),  # 3: dead by a rule
        row("d", 0, 500, device=""),  # 4: breaks two rules; the first in the file is reported
        row("e", -5),  # 5: late
        row("f", 0, 3.0, extra=[1]),  # 6: kept; fields that nobody declared are no mistake
        "no",  # 7
        row("g", 0) + row("h", 0),  # 8
        row("i", 0, "x"),  # 9
        json.dumps({"id": "j", "value": 1}),  # 10: has no time
        row(None, 0),  # 11: has no id for deduplication
        None,  # 12
        b"\xff",  # 13
        row("k", 0, None),  # 14: a rule about null is broken
        row("l", -5, 500),  # 15: late and dead: rules come first
    ]
    first = batch_of(records, headers=[("trace", b"t1"), ("barnabas.dead.error", b"of an earlier attempt")])
    _, found = made(tmp_path, spark, JUDGED, {"readings": first}, doubled=DOUBLED, factors="FACTOR = 2")

    assert sorted(tuple(each) for each in found.flows["seen"].collect()) == [("a", 0), ("f", 6)]
    letters = letters_of(found.dead["readings"])
    assert {offset: headers["barnabas.dead.error"] for offset, headers in letters.items()} == {
        3: "breaks the rule `plausible`: value < 100 -- or so",
        4: "breaks the rule `plausible`: value < 100 -- or so",
        7: "not JSON: Expecting value at character 1",
        8: f"not JSON: Extra data at character {len(records[8] or '') // 2 + 1}",
        9: 'column `value`: "x" is not a DOUBLE',
        10: "column `at` is missing, and needed by `late` and `watermark`",
        11: "column `id` is null, and needed by `deduplicate`",
        12: "the record has no value",
        13: "not text in UTF-8: byte 0 is 0xff",
        14: "breaks the rule `plausible`: value < 100 -- or so",
        15: "breaks the rule `plausible`: value < 100 -- or so",
    }
    assert letters[3] == {
        "trace": "t1",
        "barnabas.dead.error": "breaks the rule `plausible`: value < 100 -- or so",
        "barnabas.dead.rule": "plausible",
        "barnabas.dead.flow": "readings",
        "barnabas.dead.pipeline": "plant",
        "barnabas.dead.version": "v2",
        "barnabas.dead.topic": "telemetry",
        "barnabas.dead.partition": "0",
        "barnabas.dead.offset": "3",
        "barnabas.dead.timestamp": "1767268800000",
    }
    assert "barnabas.dead.rule" not in letters[7]

    assert [(each.id, each.twice) for each in found.flows["doubled"].collect()] == [("a", 4.0)]
    (letter,) = found.dead["doubled"].collect()
    assert json.loads(bytes(letter.value)) == {
        "id": "f",
        "twice": 6.0,
        "_topic": "telemetry",
        "_partition": 0,
        "_offset": 6,
    }
    assert bytes(letter.key) == b"f"
    assert letters_of(found.dead["doubled"])[6]["barnabas.dead.rule"] == "even"


FORMATS = """\
name: formats
log: {bootstrap: "localhost:9092"}
sources:
  lines: {topic: t, format: text}
  blobs: {topic: t, format: binary}
  cells:
    topic: t
    format: csv
    schema: "id STRING NOT NULL, n INT, note VARCHAR(5)"
    format_options: {delimiter: ";"}
  birds:
    topic: t
    format: avro
    schema: {type: record, name: B, fields: [{name: id, type: string}, {name: tags, type: {type: map, values: long}}]}
flows:
  all:
    sql: |
      SELECT 'lines' AS source, _offset AS place, to_json(struct(value)) AS row FROM lines
      UNION ALL SELECT 'blobs', _offset, to_json(struct(value)) FROM blobs
      UNION ALL SELECT 'cells', _offset, to_json(struct(id, n, note)) FROM cells
      UNION ALL SELECT 'birds', _offset, to_json(struct(id, tags)) FROM birds
    output: {console: true}
"""


def test_every_format(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(FORMATS)
    birds = AvroReader.of(load(tmp_path).sources["birds"])
    values: dict[str, list[str | bytes | None]] = {
        "lines": ["one", b"\xfe", None],
        "blobs": [b"\xfe\xff"],
        "cells": ["a;1;x\n", '"b;c";;', ";1;x", "a;one;x", "a;1", "a;1;too long", "", "a;1;x;y"],
        "birds": [birds.written({"id": "b", "tags": {"x": 1}}), b"", None],
    }
    sent_again = [("barnabas.dead.attempt", b"1"), ("barnabas.dead.flow", b"cells"), ("barnabas.dead.version", b"v2")]
    batches = {
        name: batch_of(each, headers=sent_again if name in ("cells", "blobs") else None)
        for name, each in values.items()
    }
    _, found = made(tmp_path, spark, FORMATS, batches)

    rows = {(each.source, each.place): json.loads(each.row) for each in found.flows["all"].collect()}
    assert rows == {
        ("lines", 0): {"value": "one"},
        ("lines", 2): {},
        # What was sent again for `cells` is not for `blobs`.
        ("cells", 0): {"id": "a", "n": 1, "note": "x"},
        ("cells", 1): {"id": "b;c"},
        ("birds", 0): {"id": "b", "tags": {"x": 1}},
    }
    assert set(found.dead) == {"lines", "cells", "birds"}
    dead = found.dead["cells"].union(found.dead["birds"]).union(found.dead["lines"])
    errors = [(each["barnabas.dead.flow"], each["barnabas.dead.error"]) for each in map(_headers, dead.collect())]
    assert errors == [
        ("cells", "column `id` is null, and needed by the schema (NOT NULL)"),
        ("cells", 'column `n`: "one" is not an INT'),
        ("cells", "2 fields, but the schema has 3 columns"),
        ("cells", 'column `note`: "too long" is not a VARCHAR(5)'),
        ("cells", "the line is empty"),
        ("cells", "4 fields, but the schema has 3 columns"),
        ("birds", "not Avro of this schema: EOFError"),
        ("birds", "the record has no value"),
        ("lines", "not text in UTF-8: byte 0 is 0xfe"),
    ]


def _headers(letter: Any) -> dict[str, str]:
    return {header.key: bytes(header.value).decode() for header in letter.headers}


MISTAKES = {
    "  averages:\n    sql: sql/averages.sql\n": (
        "sql/averages.sql:3:5: flow `averages`: there is no column `vlaue`\n  3 |     vlaue\n    |     ^^^^^",
        "did you mean `value`?",
    ),
    "  broken:\n    sql: SELECT id FROM readings WHERE > 1\n": (
        "pipeline.yaml:10:40: flow `broken`: Syntax error at or near '>'",
        "correct the query",
    ),
    "  unknown:\n    sql: SELECT nope(id) FROM readings\n": (
        "pipeline.yaml:10:17: flow `unknown`: there is no function `nope`",
        "look it up",
    ),
    '  judged:\n    sql: SELECT id FROM readings\n    expect: {rule: "id > valeu"}\n': (
        "pipeline.yaml:11:26: rule `rule` of `judged`: there is no column `valeu`",
        "there are `id`",
    ),
    "  numbers:\n    sql: SELECT id FROM readings\n    expect: {rule: length(id)}\n": (
        "pipeline.yaml:11:20: rule `rule`: the rule is int, not true or false",
        "value > 0",
    ),
    "  raises:\n    python: flows/raises.py:raises\n": (
        "flows/raises.py:2:5: flow `raises`: KeyError: 'threshold'\n  2 |     return {}['threshold']",
        "correct it there",
    ),
    "  misspelt:\n    python: flows/raises.py:misspelt\n": (
        "flows/raises.py:5:5: flow `misspelt`: there is no column `vlaue`",
        "`value`",
    ),
    "  nothing:\n    python: flows/raises.py:nothing\n": (
        "flow `nothing`: the function `nothing` in raises.py returns nothing, not a DataFrame",
        "return",
    ),
}
RAISES = """\
def raises(readings):
    return {}['threshold']

def misspelt(readings):
    return readings.select("id", "vlaue")

def nothing(readings):
    readings.select("id")
"""


@pytest.mark.parametrize("flow", MISTAKES)
def test_a_mistake_is_told_at_its_place(
    flow: str, spark: "SparkSession", tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "averages.sql").write_text("SELECT\n    id,\n    vlaue\nFROM readings\n")
    message, hint = MISTAKES[flow]
    with pytest.raises(UserError) as caught:
        made(tmp_path, spark, f"{READINGS}flows:\n{flow}", {"readings": batch_of([])}, raises=RAISES)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint
    assert "SQLSTATE" not in str(caught.value)
    assert capfd.readouterr().err == ""


RUNNING = f"""\
{READINGS}
    expect:
      known: {{rule: "device <> 'x'", otherwise: fail}}
flows:
  divided:
    sql: |
      SELECT id,
             1 / value AS part
      FROM readings
  raised: {{python: "flows/raised.py:raised"}}
"""
TABLE = """\
tables:
  devices: {csv: devices.csv, schema: "device STRING, size INT"}
"""
RAISED = """\
from pyspark.sql.functions import udf

@udf("double")
def halved(value):
    return value / len("")

def raised(readings):
    return readings.select(halved("value"))
"""


def test_what_fails_while_rows_go_through_is_told_at_its_place(spark: "SparkSession", tmp_path: Path) -> None:
    zero = {"readings": batch_of([row("a", 0, 0.0)])}
    project, found = made(tmp_path, spark, RUNNING, zero, raised=RAISED)
    with pytest.raises(UserError) as caught, in_flows(project):
        found.flows["divided"].collect()
    assert caught.value.message.startswith("pipeline.yaml:15:14: flow `divided`: Division by zero.")
    assert "try_divide" in caught.value.hint
    with pytest.raises(UserError) as caught, in_flows(project):
        found.flows["raised"].collect()
    assert caught.value.message.startswith("flows/raised.py:5:5: ZeroDivisionError: ")

    (tmp_path / "devices.csv").write_text("device,size\nd,1\nd,large\n")
    joined = READINGS + TABLE + "flows:\n  joined: {sql: SELECT size FROM readings JOIN devices USING (device)}\n"
    project, found = made(tmp_path, spark, joined, zero)
    with pytest.raises(UserError) as caught, in_flows(project):
        found.flows["joined"].collect()
    assert "devices.csv" in caught.value.message
    assert "Malformed records" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint == "correct the file, or its schema"

    project, found = made(tmp_path, spark, RUNNING, {"readings": batch_of([row("a", 0, device="x")])}, raised=RAISED)
    with pytest.raises(UserError) as caught, in_flows(project):
        found.flows["divided"].collect()
    assert caught.value.message.splitlines()[:2] == [
        "source `readings`: a row breaks the rule `known`: device <> 'x'",
        "  topic telemetry, partition 0, offset 0",
    ]
    assert '"id":"a"' in caught.value.message
    assert "SQLSTATE" not in str(caught.value)


RESTLESS = f"""\
{READINGS}
flows:
  fine: {{sql: "SELECT id, count(*) AS n FROM readings GROUP BY id", output: {{topic: a, mode: update}}}}
  counted: {{sql: "SELECT id, count(*) AS n FROM readings GROUP BY id", output: {{topic: b}}}}
  sorted: {{sql: "SELECT id FROM readings ORDER BY value", output: {{table: tables/sorted}}}}
  resting: {{python: "flows/resting.py:resting", output: {{console: true}}}}
"""


def test_what_cannot_stream_is_told_before_it_runs(spark: "SparkSession", tmp_path: Path) -> None:
    resting = "def resting(readings, spark):\n    return spark.range(3)\n"
    project, _ = made(tmp_path, spark, RESTLESS, {"readings": batch_of([])}, resting=resting)
    counted, ordered, rests = unstreamable(project, spark)
    assert counted.message.startswith("pipeline.yaml:11:19: flow `counted`: Invalid streaming output mode: append.")
    assert "`mode: update`" in counted.hint
    assert ordered.message.startswith("pipeline.yaml:12:18: flow `sorted`: Sorting is not supported on streaming")
    assert len(ordered.message.splitlines()) == 3  # without the plan
    assert rests.message.startswith("flow `resting` is not a stream")
