"""Plans the queries of a run: one for each flow with an output, one for the dead letters of each source and flow."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.pipeline.driver.failures import classify
from barnabas.pipeline.driver.outputs import dead_letter_query_name, group_of, output_of, without_metadata
from barnabas.pipeline.driver.parts import part_for
from barnabas.pipeline.driver.query import FlowQuery
from barnabas.pipeline.driver.reading import Begin, stream_reader
from barnabas.pipeline.driver.sinks import QuerySettings, Start, dead_letters_start, flow_start, refuse_unsupported
from barnabas.pipeline.flow.plan import Plan, origins_of_dead_letters, plan
from barnabas.pipeline.project.model import ConsoleOutput, Flow, Mode, Project, TableOutput, TopicOutput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PlannedQueries(NamedTuple):
    of_flows: list[FlowQuery]
    of_dead_letters: list[FlowQuery]
    columns: dict[str, dict[str, str]]
    """Of the flows that write tables: the type of each column, by name."""


@dataclass(frozen=True)
class QueryPlanner:
    """Plans all queries before any is started: a mistake in the last flow is found before the first one runs."""

    project: Project
    """Only the flows of this run, and what they read."""
    version: str
    spark: "SparkSession"
    begin: Mapping[str, Begin]
    once: bool
    say: Callable[[str], None]
    silence_logs: Callable[[], None]

    def all(self, flows: Sequence[Flow]) -> PlannedQueries:
        found = [(flow, *self._flow(flow)) for flow in flows]
        return PlannedQueries(
            [query for _, query, _ in found],
            [self._dead_letters(name) for name in origins_of_dead_letters(self.project)],
            {flow.name: _columns(frame) for flow, _, frame in found if isinstance(flow.output, TableOutput)},
        )

    def _flow(self, flow: Flow) -> "tuple[FlowQuery, DataFrame]":
        frame = self._plan(part_for(self.project, [flow.name]), flow.name).flows[flow.name]
        refuse_unsupported(self.spark, frame, mode_of(flow), flow.name)
        output = output_of(flow, self.version)
        start = flow_start(self.project, frame, output, flow.name, self._settings(flow.name, flow))
        return self._query(flow.name, start), frame

    def _dead_letters(self, origin: str) -> FlowQuery:
        """Of a source or a flow. Dead letters of a flow are written in the flow's output mode."""
        flow = self.project.flows.get(origin)
        part = part_for(self.project, [origin] if flow else [], [] if flow else [origin])
        frame = self._plan(part, dead_letter_query_name(origin)).dead[origin]
        mode = mode_of(flow) if flow else Mode.APPEND
        name = dead_letter_query_name(origin)
        return self._query(name, dead_letters_start(self.project, frame, mode, self._settings(name, flow)))

    def _plan(self, part: Project, query: str) -> Plan:
        read = stream_reader(self.spark, self.project, group_of(self.project, self.version, query), self.begin)
        return plan(part, self.spark, read, streaming=True, version=self.version)

    def _settings(self, name: str, flow: Flow | None) -> QuerySettings:
        checkpoint = self.project.checkpoint(name, self.version)
        return QuerySettings(name, checkpoint, self.once, self.project.trigger_of(flow))

    def _query(self, name: str, start: Start) -> FlowQuery:
        return FlowQuery(
            name,
            start,
            partial(classify, project=self.project, query=name),
            once=self.once,
            say=self.say,
            silence_logs=self.silence_logs,
        )


def _columns(frame: "DataFrame") -> dict[str, str]:
    return {each.name: each.dataType.simpleString() for each in without_metadata(frame).schema.fields}


def mode_of(flow: Flow) -> Mode:
    """For a view: append, since it drops each row once."""
    if isinstance(flow.output, TopicOutput | ConsoleOutput):
        return flow.output.mode
    return Mode.APPEND
