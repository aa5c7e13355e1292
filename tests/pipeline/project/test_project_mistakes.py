"""Mistakes in a project and its sources: the exact messages and positions. Flows: test_flow_mistakes."""

from pathlib import Path

import pytest
from project_making import FLOWS, HEAD, SOURCES, loaded, mistakes

from barnabas.pipeline.project import ProjectInvalid, load
from barnabas.spark.errors import UserError


def source(*lines: str) -> str:
    """A project whose source `s` has these lines; the first is line 5."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}sources:\n  s:\n{body}\nflows:\n  f: {{sql: SELECT * FROM s, output: {{topic: t}}}}\n"


JSON = ("topic: t1", "format: json", 'schema: "id STRING, at TIMESTAMP"')

CASES = {
    "unknown key": (
        source("topic: x", "format: text", "strat: latest"),
        "pipeline.yaml:7:5: unknown key `strat` in source `s`\n"
        "  7 |     strat: latest\n"
        "    |     ^^^^^\n"
        "  hint: did you mean `start`?",
    ),
    "unknown key, like no other": (
        source("topic: x", "format: text", "zzz: 1"),
        "pipeline.yaml:7:5: unknown key `zzz` in source `s`\n"
        "  7 |     zzz: 1\n"
        "    |     ^^^\n"
        "  hint: known here: topic, format, schema, schema_file, framing, format_options, start, options, late, "
        "watermark, deduplicate, expect",
    ),
    "wrong type": (
        source("topic: 17", "format: text"),
        "pipeline.yaml:5:12: `topic` must be text, not a number\n"
        "  5 |     topic: 17\n"
        "    |            ^^\n"
        "  hint: write it in quotes: '17'",
    ),
    "a list for a text": (
        source("topic: [a, b]", "format: text"),
        "pipeline.yaml:5:12: `topic` must be text, not a list\n"
        "  5 |     topic: [a, b]\n"
        "    |            ^^^^^^\n"
        "  hint: it takes: text",
    ),
    "a text for a section": (
        source("topic: x", "format: text", "late: 30 seconds"),
        "pipeline.yaml:7:11: `late` of source `s` must be a mapping, not text\n"
        "  7 |     late: 30 seconds\n"
        "    |           ^^^^^^^^^^\n"
        "  hint: write `late: {column: at, after: 30 seconds}`",
    ),
    "missing key": (
        source("format: text"),
        "pipeline.yaml:4:3: source `s` has no `topic`\n"
        "  4 |   s:\n"
        "    |   ^\n"
        "  hint: add it, for example: `readings: {topic: telemetry, format: text}`",
    ),
    "empty value": (
        source("topic: ''", "format: text"),
        "pipeline.yaml:5:12: `topic` is empty\n  5 |     topic: ''\n    |            ^^\n  hint: it takes: text",
    ),
    "a choice that is none": (
        source("topic: x", "format: jsn"),
        "pipeline.yaml:6:13: `format` cannot be `jsn`\n"
        "  6 |     format: jsn\n"
        "    |             ^^^\n"
        "  hint: did you mean `json`? It can be json, avro, csv, text, binary",
    ),
    "no schema": (
        source("topic: x", "format: csv"),
        "pipeline.yaml:4:3: source `s` has no `schema`, which csv needs\n"
        "  4 |   s:\n"
        "    |   ^\n"
        "  hint: write columns as `name TYPE, name TYPE`, for example `id STRING, at TIMESTAMP, value DOUBLE`",
    ),
    "a schema that is no DDL": (
        source("topic: x", "format: json", 'schema: "id STRING, at TIMESTAMPS"'),
        "pipeline.yaml:7:28: not a schema: `TIMESTAMPS` is not a type that a schema can have\n"
        '  7 |     schema: "id STRING, at TIMESTAMPS"\n'
        "    |                            ^^^^^^^^^^\n"
        "  hint: write columns as `name TYPE, name TYPE`, for example `id STRING, at TIMESTAMP, value DOUBLE`",
    ),
    "a schema over several lines": (
        source("topic: x", "format: json", "schema: |", "  id STRING,", "  at"),
        "pipeline.yaml:9:9: not a schema: the column `at` has no type\n"
        "  9 |       at\n"
        "    |         ^\n"
        "  hint: write columns as `name TYPE, name TYPE`, for example `id STRING, at TIMESTAMP, value DOUBLE`",
    ),
    "an Avro schema that is none": (
        source("topic: x", "format: avro", "schema: {type: record, name: R, fields: [{name: a, type: strin}]}"),
        "pipeline.yaml:7:13: not an Avro schema: field `a`: `strin` is not a type, and no type of that name was "
        "defined before it\n"
        "  7 |     schema: {type: record, name: R, fields: [{name: a, type: strin}]}\n"
        "    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        '  hint: write an Avro record: {"type": "record", "name": "Reading", "fields": [...]}',
    ),
    "a schema for text": (
        source("topic: x", "format: text", "schema: a INT"),
        "pipeline.yaml:7:5: `schema` has no meaning with the format text\n"
        "  7 |     schema: a INT\n"
        "    |     ^^^^^^\n"
        "  hint: remove it, or use a format that has it: json, csv, avro",
    ),
    "schema file that is not there": (
        source("topic: x", "format: avro", "schema_file: x.avsc"),
        "pipeline.yaml:7:18: there is no schema file `x.avsc`\n"
        "  7 |     schema_file: x.avsc\n"
        "    |                  ^^^^^^\n"
        "  hint: create it; paths are relative to the project: HERE",
    ),
    "a duration without a unit": (
        source(*JSON, "late: {column: at, after: 30}"),
        "pipeline.yaml:8:31: `30` has no unit\n"
        "  8 |     late: {column: at, after: 30}\n"
        "    |                               ^^\n"
        "  hint: write for example `after: 30 seconds`",
    ),
    "a duration that is none": (
        source(*JSON, "late: {column: at, after: 3 fortnights}"),
        "pipeline.yaml:8:31: `fortnights` is not a unit of time\n"
        "  8 |     late: {column: at, after: 3 fortnights}\n"
        "    |                               ^^^^^^^^^^^^\n"
        "  hint: write for example `after: 30 seconds`, or minutes, hours, days",
    ),
    "no duration at all": (
        source(*JSON, "late: {column: at, after: 0 s}"),
        "pipeline.yaml:8:31: `after` must be longer than 0\n"
        "  8 |     late: {column: at, after: 0 s}\n"
        "    |                               ^^^\n"
        "  hint: write for example `1 second`",
    ),
    "a watermark that drops rows in time": (
        source(*JSON, "late: {column: at, after: 2 minutes}", "watermark: {column: at, delay: 90 s}"),
        "pipeline.yaml:9:36: the watermark's delay (1 minute 30 seconds) is shorter than `late.after` (2 minutes): "
        "rows that are not late would be dropped\n"
        "  9 |     watermark: {column: at, delay: 90 s}\n"
        "    |                                    ^^^^\n"
        "  hint: write `delay: 2 minutes` or more",
    ),
    "a column that is not there": (
        source(*JSON, "watermark: {column: att, delay: 1 m}"),
        "pipeline.yaml:8:25: the schema has no column `att`\n"
        "  8 |     watermark: {column: att, delay: 1 m}\n"
        "    |                         ^^^\n"
        "  hint: did you mean `at`?",
    ),
    "a column that is no time": (
        source(*JSON, "watermark: {column: id, delay: 1 m}"),
        "pipeline.yaml:8:25: the column `id` is STRING, not a time\n"
        "  8 |     watermark: {column: id, delay: 1 m}\n"
        "    |                         ^^\n"
        "  hint: name a column of the type TIMESTAMP, or `_timestamp`, the timestamp of the record",
    ),
    "duplicates for ever": (
        source(*JSON, "deduplicate: {by: id, within: 1 h}"),
        "pipeline.yaml:8:5: source `s` needs a `watermark`: without one it would remember rows for ever\n"
        "  8 |     deduplicate: {by: id, within: 1 h}\n"
        "    |     ^^^^^^^^^^^\n"
        "  hint: add one, for example: `watermark: {column: at, delay: 1 minute}`",
    ),
    "an option that does not exist": (
        source("topic: x", "format: text", "options: {maxOffsetPerTrigger: 10}"),
        "pipeline.yaml:7:15: `maxOffsetPerTrigger` is not an option of a source\n"
        "  7 |     options: {maxOffsetPerTrigger: 10}\n"
        "    |               ^^^^^^^^^^^^^^^^^^^\n"
        "  hint: did you mean `maxOffsetsPerTrigger`?",
    ),
    "an option that is set elsewhere": (
        source("topic: x", "format: text", "options: {startingOffsets: latest}"),
        "pipeline.yaml:7:15: `startingOffsets` cannot be set here\n"
        "  7 |     options: {startingOffsets: latest}\n"
        "    |               ^^^^^^^^^^^^^^^\n"
        "  hint: remove it: use `start`",
    ),
    "a rule without a rule": (
        source("topic: x", "format: text", "expect: {good: {otherwise: drop}}"),
        "pipeline.yaml:7:14: rule `good` has no `rule`\n"
        "  7 |     expect: {good: {otherwise: drop}}\n"
        "    |              ^^^^\n"
        '  hint: add it, for example: `plausible: {rule: "value > 0", otherwise: drop}`',
    ),
    "a name that SQL cannot say": (
        f"{HEAD}sources:\n  my-orders: {{topic: x, format: text}}\n"
        "flows:\n  f: {sql: 'SELECT * FROM `my-orders`', output: {console: true}}\n",
        "pipeline.yaml:4:3: `my-orders` cannot be the name of a source\n"
        "  4 |   my-orders: {topic: x, format: text}\n"
        "    |   ^^^^^^^^^\n"
        "  hint: use letters, digits and _, at most 100, not beginning with a digit",
    ),
    "a rule that does not end": (
        source("topic: x", "format: text", """expect: {good: "value = 'a"}"""),
        "pipeline.yaml:7:29: not a condition: a string is not closed\n"
        '  7 |     expect: {good: "value = \'a"}\n'
        "    |                             ^\n"
        "  hint: close it with '",
    ),
    "a rule with a parenthesis too many": (
        source("topic: x", "format: text", "expect: {good: {rule: value = 'a'), otherwise: drop}}"),
        "pipeline.yaml:7:38: not a condition: this closing parenthesis has no opening one\n"
        "  7 |     expect: {good: {rule: value = 'a'), otherwise: drop}}\n"
        "    |                                      ^\n"
        "  hint: remove it",
    ),
    "a table that is not there": (
        f"{HEAD}{SOURCES}tables:\n  t: {{parquet: data/t}}\n{FLOWS}",
        "pipeline.yaml:9:16: there is no file or folder `data/t`\n"
        "  9 |   t: {parquet: data/t}\n"
        "    |                ^^^^^^\n"
        "  hint: create it; paths are relative to the project: HERE",
    ),
    "a table in two places": (
        f"{HEAD}{SOURCES}tables:\n  t: {{parquet: s3a://b/t, json: s3a://b/u}}\n{FLOWS}",
        "pipeline.yaml:9:27: table `t` has both `parquet` and `json`\n"
        "  9 |   t: {parquet: s3a://b/t, json: s3a://b/u}\n"
        "    |                           ^^^^\n"
        "  hint: give one of: parquet, csv, json",
    ),
    "a variable that is not set": (
        source("topic: ${TOPIC}", "format: text"),
        "pipeline.yaml:5:12: the environment variable TOPIC is not set\n"
        "  5 |     topic: ${TOPIC}\n"
        "    |            ^^^^^^^^\n"
        "  hint: set it, or give a default: ${TOPIC:default}",
    ),
    "a variable that is none": (
        source("topic: a-${1x}", "format: text"),
        "pipeline.yaml:5:14: `${1x}` is not the name of an environment variable\n"
        "  5 |     topic: a-${1x}\n"
        "    |              ^^^^^\n"
        "  hint: write ${NAME} or ${NAME:default}; write $${ for a plain ${",
    ),
    "a key that is there twice": (
        source("topic: a", "topic: b", "format: text"),
        "pipeline.yaml:6:5: the key `topic` occurs twice\n"
        "  6 |     topic: b\n"
        "    |     ^^^^^\n"
        "  hint: remove one; the first is in line 5",
    ),
    "a tab": (
        f"{HEAD}sources:\n\ts: 1\n",
        "pipeline.yaml:4:1: not YAML: found character '\\t' that cannot start any token\n"
        "  4 | \ts: 1\n"
        "    | ^\n"
        "  hint: YAML is indented by spaces, never by tabs",
    ),
    "a quote": (
        'name: "shop\n',
        "pipeline.yaml:2:1: not YAML: found unexpected end of stream\n"
        "  2 | \n"
        "    | ^\n"
        "  hint: look at the indentation and the colons here; put text with `: `, `#` or brackets in it into quotes",
    ),
    "an empty file": (
        "",
        "pipeline.yaml:1:1: pipeline.yaml is empty\n"
        "  1 | \n"
        "    | ^\n"
        "  hint: begin with `name: NAME`; see `barnabas pipeline init`",
    ),
    "a list": (
        "- a\n",
        "pipeline.yaml:1:1: pipeline.yaml is a list, not a mapping\n"
        "  1 | - a\n"
        "    | ^\n"
        "  hint: begin with `name: NAME`; see `barnabas pipeline init`",
    ),
    "a project that cannot be called so": (
        f"name: a b\nlog: {{bootstrap: x}}\n{SOURCES}{FLOWS}",
        "pipeline.yaml:1:7: `a b` cannot be the name of a project\n"
        "  1 | name: a b\n"
        "    |       ^^^\n"
        "  hint: use letters, digits, `.`, `_` and `-`, at most 100, beginning with a letter or digit",
    ),
    "a setting that is not Spark's": (
        f"{HEAD}spark: {{conf: {{shuffle: 4}}}}\n{SOURCES}{FLOWS}",
        "pipeline.yaml:3:16: `shuffle` is not a setting of Spark\n"
        "  3 | spark: {conf: {shuffle: 4}}\n"
        "    |                ^^^^^^^\n"
        "  hint: settings of Spark begin with spark.: `spark.shuffle`",
    ),
    "a setting that is not Kafka's": (
        f"name: shop\nlog: {{bootstrap: x, options: {{client.id: a}}}}\n{SOURCES}{FLOWS}",
        "pipeline.yaml:2:31: `client.id` is not an option of Kafka\n"
        "  2 | log: {bootstrap: x, options: {client.id: a}}\n"
        "    |                               ^^^^^^^^^\n"
        "  hint: Kafka's settings begin with kafka.: `kafka.client.id`",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_in_these_words(case: str, tmp_path: Path) -> None:
    yaml, expected = CASES[case]
    assert mistakes(tmp_path, yaml) == [expected.replace("HERE", str(tmp_path))]


def test_all_mistakes_are_told_at_once_from_the_top(tmp_path: Path) -> None:
    yaml = f"{HEAD}sources:\n  s: {{topik: x, format: text}}\nflows:\n  f: {{sql: SELECT * FROM t, outputs: 1}}\n"
    with pytest.raises(ProjectInvalid) as caught:
        loaded(tmp_path, yaml)
    assert [problem.place.line for problem in caught.value.problems] == [4, 6, 6]
    text = str(caught.value)
    assert "\n\n3 problems\n" in text
    assert text.endswith("hint: correct them from the top, then run `barnabas pipeline check`")


def test_a_single_mistake_ends_with_its_own_hint(tmp_path: Path) -> None:
    with pytest.raises(ProjectInvalid) as caught:
        loaded(tmp_path, source("topic: x", "format: jsn"))
    assert caught.value.hint == "did you mean `json`? It can be json, avro, csv, text, binary"


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_bytes(b"name: shop\nlog: \xff\n")
    with pytest.raises(ProjectInvalid, match=r"pipeline.yaml:2:6: not text in UTF-8") as caught:
        load(tmp_path)
    assert caught.value.hint == "save the file in UTF-8"


def test_a_character_that_yaml_does_not_allow(tmp_path: Path) -> None:
    found = mistakes(tmp_path, "name: a\x01b\n")
    assert found[0].startswith("pipeline.yaml:1:8: a character that YAML does not allow: U+0001\n  1 | name: a\ufffdb")


@pytest.mark.parametrize(
    "yaml", ["[" * 2000, "a: " + "{a: " * 200 + "1" + "}" * 200, "a: &x {b: *x}", "- &x [*x]"], ids=len
)
def test_depth_is_bounded(yaml: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, yaml)


def test_aliases_cannot_explode(tmp_path: Path) -> None:
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))
    assert "too large" in mistakes(tmp_path, f"a0: &a0 x\n{levels}\n")[0]


def test_a_folder_without_a_project(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no pipeline.yaml in .*\nhint: go to the folder"):
        load(tmp_path)
    with pytest.raises(UserError, match=r"there is no file .*other.yaml"):
        load(tmp_path / "other.yaml")
