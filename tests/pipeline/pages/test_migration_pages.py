"""The projects on the migration pages work: Spark plans and starts every flow."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from followed_pages import Followed
from page_blocks import Block

from barnabas.pipeline.flow.plan import plan
from barnabas.pipeline.project import Project, load
from barnabas.pipeline.project.model import Source, TopicOutput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PAGES = ("docs/migrate-from-kafka-streams.md", "docs/migrate-from-spark-kafka.md")

_CONNECTOR = (
    "CAST(NULL AS BINARY) AS key",
    "CAST(value AS BINARY) AS value",
    "'a topic' AS topic",
    "0 AS partition",
    "CAST(0 AS LONG) AS offset",
    "current_timestamp() AS timestamp",
    "0 AS timestampType",
    "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers",
)


def project_of(blocks: Iterable[Block], folder: Path) -> Project:
    (folder / "sql").mkdir()
    for block in blocks:
        name = "pipeline.yaml" if block.kind == "yaml" else block.text.split()[1]
        (folder / name).write_text(block.text)
    (folder / "customers.csv").write_text("customer,country\nalice,NL\n")
    return load(folder, environment={})


@pytest.fixture
def started(spark: "SparkSession") -> Iterator["list[StreamingQuery]"]:
    queries: list[StreamingQuery] = []
    yield queries
    for query in queries:
        query.stop()


def reader(spark: "SparkSession", folder: Path) -> "Callable[[Source], DataFrame]":
    """Without a broker: an empty folder, from which nothing is ever read."""
    folder.mkdir()
    return lambda source: spark.readStream.text(str(folder)).selectExpr(*_CONNECTOR)


@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES)
def test_every_flow_can_be_run_as_a_stream(
    page: str, spark: "SparkSession", started: "list[StreamingQuery]", tmp_path: Path, followed: Followed
) -> None:
    project = project_of(followed(page), tmp_path)
    session = spark.newSession()
    planned = plan(project, session, reader(session, tmp_path / "empty"), streaming=True)
    for flow in project.running_flows():
        mode = flow.output.mode.value if isinstance(flow.output, TopicOutput) else "append"
        rows = planned.flows[flow.name]
        assert rows.isStreaming
        writer = rows.writeStream.format("noop").outputMode(mode)
        started.append(writer.option("checkpointLocation", str(tmp_path / "checkpoints" / flow.name)).start())
    assert started
