"""A project as DataFrames: the same functions for a stream, for a preview and for a test.

    read(source) -> decode -> misfits to dead letters -> rules -> late rows -> watermark -> duplicates -> flows -> rules

`read` returns the connector's columns including `headers` (`flow.reading.source_options`). Sources, tables and flows
become temporary views of the session, so that SQL can name them; so a session holds one plan at a time
(`spark.newSession()` is cheap).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from barnabas.pipeline.flow import dead_letters
from barnabas.pipeline.flow.decode import can_misfit, decode
from barnabas.pipeline.flow.mistakes import in_flows
from barnabas.pipeline.flow.rules import judge_flow, judge_source, kept
from barnabas.pipeline.flow.sent_again import for_us
from barnabas.pipeline.flow.transform import flow_rows, table_rows
from barnabas.pipeline.flow.watermark import with_watermark, without_duplicates
from barnabas.pipeline.location import FIRST_VERSION
from barnabas.pipeline.project.model import METADATA_COLUMNS, Flow, Otherwise, Project, Source


@dataclass(frozen=True)
class Plan:
    """DataFrames by the names of the project; all of them streaming, or none."""

    sources: Mapping[str, DataFrame]
    """Decoded, with METADATA_COLUMNS; rules applied, late rows removed, watermark set, duplicates removed."""
    flows: Mapping[str, DataFrame]
    """Every flow, views too; its own rules applied."""
    dead: Mapping[str, DataFrame]
    """Dead letters of a source or flow, where there can be any: key, value, headers, timestamp, as the sink
    expects them. Those of a flow must be written in the flow's own output mode."""
    judged: Mapping[str, DataFrame]
    """All rows of each source, and of flows with rules, with their fate (`flow.names.FATE`)."""


def plan(
    project: Project,
    spark: SparkSession,
    read: Callable[[Source], DataFrame],
    *,
    streaming: bool,
    version: str = FIRST_VERSION,
) -> Plan:
    """Raises `UserError` for mistakes in queries, functions and rules, with their place in a file."""
    builder = _Builder(project, spark, version, streaming)
    with in_flows(project):
        for source in project.sources.values():
            builder.add_source(source, read(source))
        for table in project.tables.values():
            builder.add_view(table.name, table_rows(spark, table))
        for flow in project.flows.values():
            builder.add_flow(flow)
    return Plan(
        {name: builder.views[name] for name in project.sources},
        {name: builder.views[name] for name in project.flows},
        builder.dead,
        builder.judged,
    )


def origins_of_dead_letters(project: Project) -> list[str]:
    """The sources and flows that `Plan.dead` has."""
    sources = [source.name for source in project.sources.values() if _source_makes_letters(source)]
    return sources + [flow.name for flow in project.flows.values() if _rule_makes_letters(flow)]


class _Builder:
    def __init__(self, project: Project, spark: SparkSession, version: str, streaming: bool) -> None:
        self._project = project
        self._spark = spark
        self._version = version
        self._streaming = streaming
        self.views: dict[str, DataFrame] = {}
        self.dead: dict[str, DataFrame] = {}
        self.judged: dict[str, DataFrame] = {}

    def add_source(self, source: Source, records: DataFrame) -> None:
        ours = for_us(records, self._project, source, self._version)
        judged = self.judged[source.name] = judge_source(decode(ours, source), source)
        if _source_makes_letters(source):
            self.dead[source.name] = dead_letters.of_source(judged, self._project, source, self._version)
        rows = with_watermark(kept(judged, (*source.schema.names, *METADATA_COLUMNS)), source)
        self.add_view(source.name, without_duplicates(rows, source, streaming=self._streaming))

    def add_flow(self, flow: Flow) -> None:
        inputs = {name: self.views[name] for name in flow.inputs}
        rows = flow_rows(self._project, flow, self._spark, inputs)
        if flow.expect:
            columns = rows.columns
            judged = self.judged[flow.name] = judge_flow(rows, flow)
            if _rule_makes_letters(flow):
                self.dead[flow.name] = dead_letters.of_flow(judged, self._project, flow, self._version)
            rows = kept(judged, columns)
        self.add_view(flow.name, rows)

    def add_view(self, name: str, rows: DataFrame) -> None:
        rows.createOrReplaceTempView(name)
        self.views[name] = rows


def _source_makes_letters(source: Source) -> bool:
    return can_misfit(source) or _rule_makes_letters(source)


def _rule_makes_letters(owner: Source | Flow) -> bool:
    return any(rule.otherwise is Otherwise.DEAD_LETTER for rule in owner.expect)
