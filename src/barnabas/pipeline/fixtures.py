"""`barnabas pipeline test`: rows in, rows out, and what is different. Needs no broker, writes nothing."""

import dataclasses
import json
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.fixture_diff import Difference, Row, compare, told
from barnabas.pipeline.fixture_files import Case, Line, Rows, read_cases
from barnabas.pipeline.project.model import Project
from barnabas.pipeline.project.problems import Problem, ProjectInvalid, Report
from barnabas.spark.errors import UserError, wants_trace
from barnabas.spark.options.names import nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipeline.flow.plan import Plan

_DEAD_COLUMNS = ("key", "value", "error", "rule")


def test(project: Project, *, names: Sequence[str], trace: bool) -> int:
    """How many cases fail. What is wrong with the project or the files themselves is a UserError."""
    cases = read_cases(project, names)
    records = _records(project, cases)
    from barnabas.pipeline import spark_session
    from barnabas.pipeline.flow.batch import QUICK
    from barnabas.pipeline.flow.streamable import unstreamable

    spark = spark_session.start(project, trace=trace, conf=QUICK)
    try:
        failures = 0
        for case, batches in zip(cases, records, strict=True):
            failures += _show(case.name, _run(project, case, batches, spark))
        problems = unstreamable(project, spark)
    finally:
        spark.stop()
    print(f"{len(cases)} {'case' if len(cases) == 1 else 'cases'}: {len(cases) - failures} passed, {failures} failed")
    if problems:
        _show("to run as a stream", [line for problem in problems for line in str(problem).splitlines()])
    return failures + len(problems)


def _show(name: str, lines: Sequence[str]) -> bool:
    """Whether there is anything wrong."""
    print(f"{'FAILED' if lines else 'passed'}  {name}", flush=True)
    for line in lines:
        print(f"  {line}", flush=True)
    return bool(lines)


def run_cases(project: Project, spark: "SparkSession", names: Sequence[str] = ()) -> dict[str, list[str]]:
    """By case, what is wrong, in lines; in a session that runs already."""
    cases = read_cases(project, names)
    return {
        case.name: _run(project, case, batches, spark)
        for case, batches in zip(cases, _records(project, cases), strict=True)
    }


def _records(project: Project, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """For each case, the records of each source, as Arrow batches."""
    from barnabas.pipeline.fixture_records import records_of, without_registry

    report = Report()
    found = [
        {
            name: records_of(without_registry(source), case.inputs[name].lines if name in case.inputs else (), report)
            for name, source in project.sources.items()
        }
        for case in cases
    ]
    report.raise_if_any()
    return found


def _run(project: Project, case: Case, batches: Mapping[str, Any], spark: "SparkSession") -> list[str]:
    """What is wrong, in lines; nothing if all is as expected."""
    from barnabas.pipeline.fixture_records import without_registry
    from barnabas.pipeline.flow.batch import records
    from barnabas.pipeline.flow.mistakes import in_flows
    from barnabas.pipeline.flow.plan import plan

    sources = {name: without_registry(source) for name, source in project.sources.items()}
    quiet = dataclasses.replace(project, sources=sources)
    made = plan(quiet, spark, lambda source: records(spark, [batches[source.name]]), streaming=False)
    lines: list[str] = []
    try:
        with in_flows(project):
            for name, rows in case.expected.items():
                lines += _told(project, name, _compare_rows(name, _rows_of(made, name), rows))
            for name, rows in case.dead.items():
                lines += _told(project, name, _compare_dead(made.dead.get(name), rows), "dead letters of ")
    except UserError as error:
        if wants_trace():
            traceback.print_exc()
        return [*lines, *error.message.splitlines(), f"hint: {error.hint}"]
    return lines


def _told(project: Project, name: str, differences: Sequence[Difference], prefix: str = "") -> list[str]:
    what = f"{'flow' if name in project.flows else 'source'} {name}"
    return told(prefix + what, differences) if differences else []


def _rows_of(made: "Plan", name: str) -> "DataFrame":
    from barnabas.pipeline.flow.batch import shown

    return shown(made.flows[name] if name in made.flows else made.sources[name])


def _compare_rows(name: str, rows: "DataFrame", expected: Rows) -> list[Difference]:
    """The expected rows go through the types of the actual ones, so that `1` is 1.0 and times are times."""
    from barnabas.pipeline.flow.names import quoted

    columns = _named_columns(f"`{name}`", rows.columns, expected)
    actual, wanted = _through_spark(rows.select(*map(quoted, columns)), expected)
    return compare(wanted, actual)


def _named_columns(owner: str, columns: Sequence[str], expected: Rows) -> list[str]:
    """Those that the file names somewhere; all, if it expects no rows."""
    named = set[str]()
    for line in expected.lines:
        row = _object(line)
        for name in row:
            if name not in columns:
                guess = nearest(name, columns)
                hint = f"did you mean `{guess}`?" if guess else f"its columns are {', '.join(columns)}"
                raise _mistake(line, f"{owner} has no column `{name}`", hint)
        named |= row.keys()
    return [name for name in columns if name in named] or list(columns)


def _through_spark(rows: "DataFrame", expected: Rows) -> tuple[list[Row], list[Row]]:
    """Both in one job: each costs a fraction of a second."""
    import pyarrow as pa
    from pyspark.sql import functions as fn
    from pyspark.sql.types import StringType, StructField, StructType

    from barnabas.pipeline.flow.batch import as_json
    from barnabas.pipeline.flow.names import CORRUPT

    corrupt = CORRUPT
    schema = StructType([*rows.schema.fields, StructField(corrupt, StringType())])
    # From Arrow: of a list Spark makes rows in a Python worker, which it would have to start.
    texts = [line.text for line in expected.lines]
    lines = pa.table({"line": pa.array(range(len(texts)), pa.int32()), "text": pa.array(texts, pa.string())})
    parsed = rows.sparkSession.createDataFrame(lines).select(
        "line",
        fn.from_json("text", schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": corrupt}).alias("row"),
    )
    wanted = parsed.select("line", "row.*")
    wanted = wanted.select("line", corrupt, as_json(rows).alias("json"))
    came = rows.select(
        fn.lit(None).cast("int").alias("line"), fn.lit(None).cast("string").alias(corrupt), as_json(rows).alias("json")
    )
    actual: list[Row] = []
    read: list[Row] = []
    for line, misfit, text in came.union(wanted).collect():
        if misfit is not None:
            types = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
            raise _mistake(expected.lines[line], "this row does not fit the columns' types", f"they are {types}")
        (actual if line is None else read).append(json.loads(text))
    return actual, read


def _compare_dead(letters: "DataFrame | None", expected: Rows) -> list[Difference]:
    """A letter has key, value, error and rule; what the file does not name is not compared."""
    columns = _named_columns("a dead letter", _DEAD_COLUMNS, expected)
    actual = [] if letters is None else [_letter(row) for row in letters.select("key", "value", "headers").collect()]
    wanted = [{name: _object(line).get(name) for name in columns} for line in expected.lines]
    return compare(wanted, [{name: row[name] for name in columns} for row in actual])


def _letter(row: Any) -> Row:
    from barnabas.pipeline.flow import dead_letter_headers as names

    headers = {header.key: bytes(header.value).decode() for header in row.headers if header.value is not None}
    value = None if row.value is None else bytes(row.value).decode(errors="replace")
    key = None if row.key is None else bytes(row.key).decode(errors="replace")
    try:
        read = None if value is None else json.loads(value)
    except ValueError:
        read = value
    return {"key": key, "value": read, "error": headers.get(names.ERROR), "rule": headers.get(names.RULE)}


def _object(line: Line) -> Row:
    if not isinstance(line.value, dict):
        raise _mistake(line, "a row must be an object", 'write {"column": value, ...}')
    return line.value


def _mistake(line: Line, message: str, hint: str) -> UserError:
    return ProjectInvalid([Problem(line.place, message, hint)])
