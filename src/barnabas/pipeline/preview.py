"""`barnabas pipeline preview`: runs the flows over the last records. Writes nothing.

The records are read first, without Spark: an unreachable broker or a missing topic is reported at once.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.driver.parts import part_for
from barnabas.pipeline.latest_records import latest_records
from barnabas.pipeline.project.model import Otherwise, Project, Source
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipeline.flow.plan import Plan

Row = dict[str, Any]


@dataclass(frozen=True)
class DeadLetter:
    partition: int
    offset: int
    error: str


@dataclass(frozen=True)
class SourceSummary:
    """What happened to the records of a source."""

    records: int
    rows: int
    """The rows that flows see."""
    late: int
    dropped: int
    duplicates: int
    warned: Mapping[str, int]
    """By rule with `otherwise: warn`."""
    dead: tuple[DeadLetter, ...]


@dataclass(frozen=True)
class Preview:
    sources: Mapping[str, SourceSummary]
    rows: Mapping[str, "list[Row]"]
    """By flow, or by source if one was requested."""
    columns: Mapping[str, list[str]]


def preview(
    project: Project, *, flow: str | None, rows: int, trace: bool, say: Callable[[str], None] = lambda _: None
) -> Preview:
    """`flow`: a flow or a source; None: all flows with an output. `rows`: how many records of each partition."""
    part, records = _read(project, flow, rows)
    say("Starting Spark ...")
    from barnabas.pipeline import spark_session
    from barnabas.pipeline.flow.batch import QUICK

    spark = spark_session.start(project, trace=trace, conf=QUICK)
    try:
        return _previewed(part, records, _wanted(project, flow), spark)
    finally:
        spark.stop()


def preview_in(spark: "SparkSession", project: Project, *, flow: str | None, rows: int) -> Preview:
    """The same in a session that runs already."""
    part, records = _read(project, flow, rows)
    return _previewed(part, records, _wanted(project, flow), spark)


def _read(project: Project, flow: str | None, rows: int) -> tuple[Project, dict[str, Any]]:
    """The required part of the project, and the records of its sources."""
    wanted = _wanted(project, flow)
    part = part_for(project, [name for name in wanted if name in project.flows], set(wanted) & set(project.sources))
    return part, {name: latest_records(project, source, rows) for name, source in part.sources.items()}


def _previewed(part: Project, records: Mapping[str, Any], wanted: Sequence[str], spark: "SparkSession") -> Preview:
    from barnabas.pipeline.flow import batch
    from barnabas.pipeline.flow.mistakes import in_flows
    from barnabas.pipeline.flow.plan import plan

    made = plan(part, spark, lambda source: batch.records(spark, records[source.name].to_batches()), streaming=False)
    with in_flows(part):
        sources = {name: _summary(made, source) for name, source in part.sources.items()}
        frames = {name: batch.shown({**made.sources, **made.flows}[name]) for name in wanted}
        found = {name: _rows(frame) for name, frame in frames.items()}
    return Preview(sources, found, {name: frame.columns for name, frame in frames.items()})


def as_object(found: Preview) -> dict[str, Any]:
    """For JSON."""
    return {
        "sources": {name: dataclasses.asdict(summary) for name, summary in found.sources.items()},
        "rows": dict(found.rows),
    }


def _wanted(project: Project, flow: str | None) -> list[str]:
    if flow is None:
        return [each.name for each in project.running_flows()] or list(project.flows)
    known = [*project.flows, *project.sources]
    if flow not in known:
        guess = nearest(flow, known)
        hint = f"did you mean `{guess}`?" if guess else f"there are {', '.join(known)}"
        raise UserError(f"there is no flow or source `{flow}`", hint)
    return [flow]


def _rows(frame: "DataFrame") -> list[Row]:
    from barnabas.pipeline.flow.batch import as_json

    return [json.loads(row[0]) for row in frame.select(as_json(frame)).collect()]


def _summary(made: "Plan", source: Source) -> SourceSummary:
    """In one job: each record with its fate, followed by the rows that remain."""
    from pyspark.sql import functions as fn

    from barnabas.pipeline.flow import names
    from barnabas.pipeline.flow.misfits import misfit

    flags = [names.broken(rule.name) for rule in source.expect]
    columns = ["_partition", "_offset", names.VALUE, names.FATE, *flags]
    judged = made.judged[source.name].select(*columns)
    unflagged = [fn.lit(False)] * len(flags)
    left = made.sources[source.name].select(
        "_partition", "_offset", fn.lit(None).cast("binary"), fn.lit(_LEFT), *unflagged
    )
    fates: Counter[str] = Counter()
    warned: Counter[str] = Counter()
    dead: list[DeadLetter] = []
    for row in judged.union(left).collect():
        fate = row[names.FATE]
        fates[fate] += 1
        warned.update(
            rule.name for rule in source.expect if rule.otherwise is Otherwise.WARN and row[names.broken(rule.name)]
        )
        if fate == names.BROKE_SCHEMA:
            value = row[names.VALUE]
            dead.append(DeadLetter(row[0], row[1], misfit(None if value is None else bytes(value), source)))
        elif fate == names.BROKE_RULE:
            broken = next(
                rule
                for rule in source.expect
                if rule.otherwise is Otherwise.DEAD_LETTER and row[names.broken(rule.name)]
            )
            dead.append(DeadLetter(row[0], row[1], f"breaks the rule `{broken.name}`: {' '.join(broken.rule.split())}"))
    rows = fates.pop(_LEFT, 0)
    return SourceSummary(
        records=fates.total(),
        rows=rows,
        late=fates[names.LATE],
        dropped=fates[names.DROPPED],
        duplicates=fates[names.KEPT] - rows,
        warned=dict(warned),
        dead=tuple(dead),
    )


_LEFT = "left"
