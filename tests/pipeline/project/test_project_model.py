"""The model of a valid project."""

from pathlib import Path

import pytest
from project_making import FLOWS, HEAD, SOURCES, loaded, mistakes

from barnabas.pipeline.project.durations import Duration
from barnabas.pipeline.project.model import (
    ConsoleOutput,
    Deduplicate,
    Expectation,
    Format,
    Framing,
    Late,
    Log,
    Mode,
    Otherwise,
    OutputFormat,
    PythonFunction,
    SparkSettings,
    SqlQuery,
    Start,
    TableFormat,
    TableOutput,
    TopicOutput,
    Watermark,
)

EVERYTHING = """\
name: shop
trigger: 1 minute
log:
  bootstrap: "${BOOT:localhost:9092}"
  options: {kafka.security.protocol: SSL, kafka.fetch.max.bytes: 1000}
spark:
  master: local[2]
  conf: {spark.sql.shuffle.partitions: 4, spark.ui.enabled: false}
sources:
  orders:
    topic: orders
    format: json
    schema_file: orders.ddl
    start: latest
    options: {maxOffsetsPerTrigger: 100, kafka.client.id: x}
    format_options: {mode: PERMISSIVE}
    late: {column: at, after: 30 seconds}
    watermark: {column: AT, delay: 1 minute}
    deduplicate: {by: id, within: 10 minutes}
    expect:
      positive: amount > 0
      known: {rule: "id IS NOT NULL", otherwise: dead-letter}
  clicks: {topic: clicks, format: avro, framing: confluent, schema_file: clicks.avsc}
  lines: {topic: lines, format: text, watermark: {column: _timestamp, delay: 1 s}}
tables:
  people: {csv: people.csv, schema: "id STRING, name STRING"}
  far: {parquet: "s3a://bucket/far"}
flows:
  totals:
    sql: SELECT count(*) FROM joined
    output: {topic: totals, key: id, format: csv, mode: complete, options: {partitioner: murmur2}}
    trigger: 5 s
    expect: {some: {rule: "true", otherwise: fail}}
  joined: {sql: join.sql}
  seen:
    python: seen.py:seen
    output: {table: out/seen, partition_by: [day, hour]}
  all:
    python: seen.py:everything
    inputs: [Lines, orders]
    output: {console: true, mode: update}
"""
FILES = {
    "orders.ddl": "id STRING,\n  at TIMESTAMP, amount DOUBLE\n",
    "clicks.avsc": '{"type": "record", "name": "C", "fields": [{"name": "url", "type": "string"}]}',
    "people.csv": "id,name\n",
    "join.sql": "SELECT * FROM orders JOIN People USING (id)",
    "seen.py": "def seen(clicks, spark, *, limit=3): ...\ndef everything(inputs, orders): ...\n",
}


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    project = loaded(tmp_path, EVERYTHING, files=FILES)
    assert project.name == "shop"
    assert project.log == Log("localhost:9092", {"kafka.security.protocol": "SSL", "kafka.fetch.max.bytes": "1000"})
    assert project.log.spark_options()["kafka.bootstrap.servers"] == "localhost:9092"
    assert project.spark == SparkSettings(
        "local[2]", {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    )
    orders = project.sources["orders"]
    assert (orders.topic, orders.format, orders.start) == ("orders", Format.JSON, Start.LATEST)
    assert orders.schema.ddl == "id STRING, at TIMESTAMP, amount DOUBLE"
    assert orders.options == {"maxOffsetsPerTrigger": "100", "kafka.client.id": "x"}
    assert orders.format_options == {"mode": "PERMISSIVE"}
    assert orders.late == Late("at", Duration(30_000))
    assert orders.watermark == Watermark("AT", Duration(60_000))
    assert orders.deduplicate == Deduplicate(("id",), Duration(600_000))
    assert orders.expect == (
        Expectation("positive", "amount > 0", Otherwise.WARN),
        Expectation("known", "id IS NOT NULL", Otherwise.DEAD_LETTER),
    )
    assert (project.sources["clicks"].framing, project.sources["clicks"].schema.ddl) == (
        Framing.CONFLUENT,
        "url STRING",
    )
    assert project.sources["lines"].schema.ddl == "value STRING"
    people, far = project.tables["people"], project.tables["far"]
    assert (people.format, people.path) == (TableFormat.CSV, str(tmp_path / "people.csv"))
    assert (far.path, far.schema) == ("s3a://bucket/far", None)
    assert project.dead_letters.topic == "shop.dead-letters"


def test_flows_come_after_what_they_read(tmp_path: Path) -> None:
    project = loaded(tmp_path, EVERYTHING, files=FILES)
    assert list(project.flows) == ["joined", "totals", "seen", "all"]
    totals, joined = project.flows["totals"], project.flows["joined"]
    assert totals.output == TopicOutput("totals", "id", OutputFormat.CSV, Mode.COMPLETE, {"partitioner": "murmur2"})
    assert (totals.trigger, totals.inputs) == (Duration(5_000), ("joined",))
    assert project.trigger_of(totals) == Duration(5_000)
    assert project.trigger_of(project.flows["seen"]) == project.trigger_of(None) == Duration(60_000)
    assert joined.transform == SqlQuery(tmp_path / "join.sql", FILES["join.sql"])
    assert joined.inputs == ("orders", "people")
    assert joined.output is None
    seen, everything = project.flows["seen"], project.flows["all"]
    assert seen.transform == PythonFunction(tmp_path / "seen.py", "seen", ("clicks", "spark", "limit"))
    assert seen.inputs == ("clicks",)
    assert seen.output == TableOutput(str(tmp_path / "out/seen"), ("day", "hour"))
    assert everything.inputs == ("lines", "orders")
    assert everything.output == ConsoleOutput(Mode.UPDATE)
    assert [flow.name for flow in project.running_flows()] == ["totals", "seen", "all"]
    assert [source.name for source in project.sources_of("totals")] == ["orders"]
    assert project.checkpoint("totals", "v2") == tmp_path / ".barnabas" / "v2" / "totals" / "checkpoint"


def test_inputs_that_are_declared_win_over_those_that_are_seen(tmp_path: Path) -> None:
    yaml = f"{HEAD}{SOURCES}flows:\n  f: {{sql: SELECT * FROM hidden, inputs: orders, output: {{topic: t}}}}\n"
    assert loaded(tmp_path, yaml).flows["f"].inputs == ("orders",)


def test_a_variable_wins_over_its_default(tmp_path: Path) -> None:
    project = loaded(tmp_path, EVERYTHING, files=FILES, environment={"BOOT": "kafka:1"})
    assert project.log.bootstrap == "kafka:1"


def test_a_plain_dollar_sign_can_be_written(tmp_path: Path) -> None:
    yaml = f"{HEAD}{SOURCES}{FLOWS}    expect: {{dollar: \"x = '$${{y}}' OR x = '$'\"}}\n"
    assert loaded(tmp_path, yaml).flows["large"].expect[0].rule == "x = '${y}' OR x = '$'"


PROFILES = """\
profiles:
  prod:
    log: {bootstrap: "kafka:9092"}
    flows: {large: {output: {console: true, mode: update}}}
  odd: {flows: {large: {output: {topic: [1]}}}}
"""


def test_a_profile_is_put_over_the_rest(tmp_path: Path) -> None:
    yaml = f"{HEAD}{SOURCES}{FLOWS}{PROFILES}"
    assert loaded(tmp_path, yaml).log.bootstrap == "localhost:9092"
    project = loaded(tmp_path, yaml, profile="prod")
    assert project.log.bootstrap == "kafka:9092"
    assert project.flows["large"].output == ConsoleOutput(Mode.UPDATE)


def test_flags_win_over_profiles(tmp_path: Path) -> None:
    project = loaded(
        tmp_path,
        f"{HEAD}{SOURCES}{FLOWS}{PROFILES}",
        profile="prod",
        overrides=["log.bootstrap=here:1", "log.options.kafka.client.id=me", "flows.large.output={console: true}"],
    )
    assert project.log == Log("here:1", {"kafka.client.id": "me"})
    assert project.flows["large"].output == ConsoleOutput(Mode.APPEND)


def test_mistakes_in_profiles_and_flags_have_places_too(tmp_path: Path) -> None:
    yaml = f"{HEAD}{SOURCES}{FLOWS}{PROFILES}"
    assert mistakes(tmp_path, yaml, profile="odd")[0].startswith(
        "pipeline.yaml:16:41: `topic` must be text, not a list"
    )
    assert mistakes(tmp_path, yaml, profile="pord") == [
        "--profile pord: there is no profile `pord`\n   | pord\n   | ^^^^\n  hint: did you mean `prod`?"
    ]
    assert mistakes(tmp_path, yaml, overrides=["log.bootstrap=17"]) == [
        "--set log.bootstrap=17: `bootstrap` must be text, not a number\n"
        "   | log.bootstrap=17\n"
        "   |               ^^\n"
        "  hint: write it in quotes: '17'"
    ]
    assert mistakes(tmp_path, yaml, overrides=["bootstrap"]) == [
        "--set bootstrap: not a setting\n   | bootstrap\n   | ^^^^^^^^^\n  hint: write --set log.bootstrap=kafka:9092"
    ]
    assert mistakes(tmp_path, yaml, overrides=["log.x={"])[0].startswith("--set log.x={: not YAML")
    assert mistakes(tmp_path, yaml, overrides=["log.boot=x"])[0].startswith("--set log.boot=x: unknown key `boot`")


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_ends_of_other_systems(tmp_path: Path, ending: str) -> None:
    text = f"\ufeff{HEAD}{SOURCES}{FLOWS}".replace("\n", ending)
    (tmp_path / "pipeline.yaml").write_bytes(text.encode())
    from barnabas.pipeline.project import load

    assert load(tmp_path).name == "shop"
