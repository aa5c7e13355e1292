"""Mistakes in the files of a test are reported with their lines, and differences are readable."""

import json
from pathlib import Path

import pytest
from flow_world import READINGS, at, source_of

from barnabas.pipeline.fixtures.difference import compare, describe
from barnabas.pipeline.fixtures.files import Line, read_cases
from barnabas.pipeline.fixtures.records import records_of
from barnabas.pipeline.flow.decode_avro import AvroReader
from barnabas.pipeline.project import Project, ProjectInvalid, avro, load
from barnabas.pipeline.project.model import Format, Framing
from barnabas.pipeline.project.problems import Document, Report
from barnabas.spark.errors import UserError


def project(folder: Path, **files: str) -> Project:
    (folder / "pipeline.yaml").write_text(f"{READINGS}flows:\n  large: {{sql: SELECT * FROM readings}}\n")
    for name, text in files.items():
        path = folder / "tests" / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load(folder)


def test_all_lines_that_are_no_json_are_told_at_once(tmp_path: Path) -> None:
    found = project(tmp_path, one__input_readings_jsonl='{"id": 1}\n\n{"id": x}\n[1,\n', one__expect_large_jsonl="")
    with pytest.raises(ProjectInvalid) as caught:
        read_cases(found, [])
    assert [str(problem.place) for problem in caught.value.problems] == [
        "tests/one/input.readings.jsonl:3:8",
        "tests/one/input.readings.jsonl:4:4",
    ]


@pytest.mark.parametrize(
    ("files", "names", "message", "hint"),
    [
        ({}, [], "plant has no tests", "tests/first/input.SOURCE.jsonl"),
        ({"one__expect_large_jsonl": ""}, ["on"], "there is no case `on` in tests/", "did you mean `one`?"),
        ({"one__input_reading_jsonl": ""}, [], "there is no source `reading`", "rename it: input.readings.jsonl"),
        (
            {"one__expect_large_json": ""},
            [],
            "there is no source or flow `large.json`",
            "rename it: expect.large.jsonl",
        ),
        ({"one__input_readings_jsonl": ""}, [], "the case `one` expects nothing", "expect.FLOW.jsonl"),
    ],
)
def test_a_file_with_a_wrong_name(
    files: dict[str, str], names: list[str], message: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        read_cases(project(tmp_path, **files), names)
    assert message in caught.value.message
    assert hint in caught.value.hint


def lines(*rows: object) -> list[Line]:
    texts = [json.dumps(row) for row in rows]
    document = Document("input", "\n".join(texts))
    return [Line(document.place(0), text, row) for text, row in zip(texts, rows, strict=True)]


def test_rows_become_records_as_the_source_wants_them() -> None:
    report = Report()
    cells = source_of(Format.CSV, schema="id STRING, n INT", format_options={"sep": "|"})
    batch = records_of(cells, lines({"n": 1, "id": "a|b"}, "raw|2", {"_value": None, "_offset": 7}), report)
    assert batch.column("value").to_pylist() == [b'"a|b"|1', b"raw|2", None]
    assert batch.column("offset").to_pylist() == [0, 1, 7]

    texts = source_of(Format.TEXT, schema="value STRING")
    rows = lines("one", {"value": "two", "_key": "k", "_headers": {"h": "x"}, "_timestamp": at(1)})
    batch = records_of(texts, rows, report)
    assert batch.column("value").to_pylist() == [b"one", b"two"]
    assert batch.column("key").to_pylist() == [None, b"k"]
    assert batch.column("headers").to_pylist() == [None, [{"key": "h", "value": b"x"}]]
    assert batch.column("timestamp").to_pylist()[1].isoformat() == "2026-01-01T12:01:00+00:00"

    schema = avro.schema_of(
        '{"type": "record", "name": "R", "fields": [{"name": "at", "type": {"type": "long", "logicalType": '
        '"timestamp-millis"}}, {"name": "n", "type": ["null", "int"]}]}'
    )
    framed = source_of(Format.AVRO, schema=schema, framing=Framing.CONFLUENT)
    batch = records_of(framed, lines({"at": at(2), "n": 3}), report)
    assert AvroReader.of(framed).row(batch.column("value")[0].as_py())["n"] == 3
    assert not report.problems

    records_of(framed, lines({"at": "noon"}, {"other": 1}, [1]), report)
    records_of(texts, lines({"value": "a", "_timestamp": "noon"}), report)
    assert [problem.message for problem in report.problems] == [
        'this row cannot be written as Avro: `a timestamp` is not a time: "noon"',
        "source `events` has no column `other`",
        "a row of source `events` must be an object, not [1]",
        '`_timestamp` is not a time: "noon"',
    ]


def test_rows_are_compared_as_a_multiset_and_pairs_are_found() -> None:
    expected = [{"id": "a", "n": 1}, {"id": "a", "n": 1}, {"id": "b", "n": 2}, {"id": "c", "n": 0.1 + 0.2}]
    assert compare(expected, expected[::-1]) == []
    assert compare([{"x": 0.3}], [{"x": 0.1 + 0.2}]) == []
    actual = [{"id": "a", "n": 1}, {"id": "b", "n": 3}, {"id": "c", "n": 0.3}, {"id": "d", "n": 9}]
    assert describe("flow f", compare(expected, actual)) == [
        "flow f: 1 row differs, 1 is missing, 1 was not expected",
        '  missing: {"id": "a", "n": 1}',
        '  differs: {"id": "b"}',
        "    n  expected 2, actual 3",
        '  not expected: {"id": "d", "n": 9}',
    ]
