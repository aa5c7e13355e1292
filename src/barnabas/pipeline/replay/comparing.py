"""`barnabas pipeline compare`: compares what two versions of a flow have written, with Spark, so tables may be large.

Rows are compared column by column, as text. Key columns identify a row; without key columns, whole rows are compared,
and how often each occurs. For a flow that updates its rows, the last row of each key counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipeline import spark_session
from barnabas.pipeline.driver.outputs import output_of
from barnabas.pipeline.flow.reading import source_options
from barnabas.pipeline.project.model import Flow, Mode, OutputFormat, Project, Source, TableOutput, TopicOutput
from barnabas.pipeline.replay.group_columns import group_columns
from barnabas.pipeline.replay.version_progress import as_started
from barnabas.spark.errors import UserError
from barnabas.spark.readable import readable_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONLY_OLD, ONLY_NEW, DIFFERENT = "only in old", "only in new", "different"
_VALUE = "value"
_COUNTS = ("same", "only_old", "only_new", "different")


@dataclass(frozen=True)
class Difference:
    kind: str
    key: dict[str, str | None]
    """Without key columns: the whole row."""
    old: dict[str, str | None]
    new: dict[str, str | None]
    """For a row that differs: the differing columns. For a row of only one version: its other columns."""


@dataclass(frozen=True)
class Comparison:
    flow: str
    key: tuple[str, ...]
    """Empty: whole rows were compared."""
    same: int
    only_old: int
    only_new: int
    different: int
    examples: Sequence[Difference]

    @property
    def differences(self) -> int:
        return self.only_old + self.only_new + self.different


def compare(
    project: Project,
    *,
    old: str,
    new: str,
    flow: str | None = None,
    key: Sequence[str] = (),
    limit: int = 20,
    trace: bool = False,
    spark: "SparkSession | None" = None,
) -> list[Comparison]:
    """Compares each flow that both versions have, up to what they have written by now."""
    before, after = as_started(project, old), as_started(project, new)
    names = _common(before, after, flow, old, new)
    session = spark or spark_session.start(project, trace=trace)
    try:
        with readable_errors():
            return [_compared(session, before, after, name, old, new, tuple(key), limit) for name in names]
    finally:
        if spark is None:
            session.stop()


def _common(before: Project, after: Project, flow: str | None, old: str, new: str) -> list[str]:
    sides = [
        {each.name: each for each in project.running_flows() if isinstance(each.output, TopicOutput | TableOutput)}
        for project in (before, after)
    ]
    common = [name for name in sides[0] if name in sides[1]]
    if flow is not None and flow not in common:
        where = f"{old} and {new}" if flow not in {*sides[0], *sides[1]} else (new if flow in sides[0] else old)
        raise UserError(
            f"the flow `{flow}` writes neither a topic nor a table in {where}",
            f"there are {', '.join(common)}" if common else "these versions have no flow in common",
        )
    if not common:
        raise UserError(f"{old} and {new} have no flow in common", "compare their outputs with queries of your own")
    return common if flow is None else [flow]


def _compared(
    spark: "SparkSession",
    before: Project,
    after: Project,
    name: str,
    old: str,
    new: str,
    key: tuple[str, ...],
    limit: int,
) -> Comparison:
    flow = after.flows[name]
    output = output_of(flow, new)
    is_plain = isinstance(output, TopicOutput) and output.format is not OutputFormat.JSON
    chosen = () if is_plain else key or _inferred(spark, after, flow)
    sides = [_rows(spark, side, side.flows[name], version) for side, version in ((before, old), (after, new))]
    if key and not is_plain:
        _check_key(sides, name, key)
    updates = isinstance(output, TopicOutput) and output.mode is not Mode.APPEND
    return compare_frames(name, sides[0], sides[1], chosen, is_last_row_of_key=updates and bool(chosen), limit=limit)


def compare_frames(
    flow: str,
    old: "DataFrame",
    new: "DataFrame",
    key: tuple[str, ...],
    *,
    is_last_row_of_key: bool,
    limit: int,
) -> Comparison:
    """Both have the columns `row`, a map of texts, and `place`, which increases in the order of writing."""
    from pyspark.sql import functions as fn

    def grouped(side: "DataFrame", name: str) -> "DataFrame":
        identity = fn.transform(fn.array(*map(fn.lit, key)), lambda column: fn.col("row")[column]) if key else _text()
        keyed = side.select(identity.alias("id"), _text().alias("text"), "place")
        if is_last_row_of_key:
            return keyed.groupBy("id").agg(fn.array(fn.max_by("text", "place")).alias(name))
        return keyed.groupBy("id").agg(fn.sort_array(fn.collect_list("text")).alias(name))

    def _text() -> Any:
        return fn.to_json(fn.map_from_entries(fn.sort_array(fn.map_entries("row"))), {"ignoreNullFields": "false"})

    left, right = grouped(old, "old"), grouped(new, "new")
    both = left.join(right, left["id"].eqNullSafe(right["id"]), "full").select("old", "new")
    sizes = both.select(
        "old",
        "new",
        fn.coalesce(fn.size("old"), fn.lit(0)).alias("n_old"),
        fn.coalesce(fn.size("new"), fn.lit(0)).alias("n_new"),
    )
    # In Spark the size of a null array is -1.
    counted = sizes.select(
        "old",
        "new",
        fn.greatest("n_old", fn.lit(0)).alias("n_old"),
        fn.greatest("n_new", fn.lit(0)).alias("n_new"),
    )
    shared = fn.least("n_old", "n_new")
    is_same = fn.col("old").eqNullSafe(fn.col("new"))
    differs = fn.when(is_same, 0).otherwise(shared) if key else fn.lit(0)
    judged = counted.select(
        "old",
        "new",
        (shared - differs).alias("same"),
        differs.alias("different"),
        (fn.col("n_old") - shared).alias("only_old"),
        (fn.col("n_new") - shared).alias("only_new"),
    ).cache()
    try:
        sums = [fn.coalesce(fn.sum(each), fn.lit(0)).alias(each) for each in _COUNTS]
        totals = judged.agg(*sums).first()
        assert totals is not None
        worth_showing = judged.where("different + only_old + only_new > 0").limit(limit).collect() if limit else []
    finally:
        judged.unpersist()
    examples = [_difference(row["old"] or [], row["new"] or [], key) for row in worth_showing]
    counts = totals.asDict()
    return Comparison(flow, key, counts["same"], counts["only_old"], counts["only_new"], counts["different"], examples)


def _difference(old: Sequence[str], new: Sequence[str], key: tuple[str, ...]) -> Difference:
    import json

    before: dict[str, str | None] = json.loads(old[0]) if old else {}
    after: dict[str, str | None] = json.loads(new[0]) if new else {}
    there = before or after
    identity = {name: there.get(name) for name in key} if key else there
    kind = ONLY_OLD if len(old) > len(new) else ONLY_NEW if len(new) > len(old) else DIFFERENT
    if not key:
        return Difference(kind, identity, {}, {})
    if old and new:
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        return Difference(
            kind, identity, {name: before.get(name) for name in names}, {name: after.get(name) for name in names}
        )
    return Difference(
        kind,
        identity,
        {name: value for name, value in before.items() if name not in key},
        {name: value for name, value in after.items() if name not in key},
    )


def _rows(spark: "SparkSession", project: Project, flow: Flow, version: str) -> "DataFrame":
    """The rows that a version has written: `row`, and `place`."""
    from pyspark.sql import functions as fn

    output = output_of(flow, version)
    if isinstance(output, TableOutput):
        frame = spark.read.parquet(output.path)
        text = fn.to_json(fn.struct(*(frame[f"`{name}`"] for name in frame.columns)), {"ignoreNullFields": "false"})
        return frame.select(fn.from_json(text, "MAP<STRING, STRING>").alias("row"), fn.lit(0).alias("place"))
    assert isinstance(output, TopicOutput)
    frame = (
        spark.read.format("barnabas")
        .options(**project.log.spark_options())
        .option("subscribe", output.topic)
        .option("kafka.isolation.level", "read_committed")
        .load()
    )
    value = frame[_VALUE].cast("string")
    parsed = fn.from_json(value, "MAP<STRING, STRING>") if output.format is OutputFormat.JSON else fn.lit(None)
    row = fn.coalesce(parsed, fn.create_map(fn.lit(_VALUE), value))
    return frame.select(row.alias("row"), fn.struct("timestamp", "partition", "offset").alias("place"))


def _check_key(sides: Sequence["DataFrame"], flow: str, key: tuple[str, ...]) -> None:
    from pyspark.sql import functions as fn

    for side in sides:
        first = side.select(fn.map_keys("row").alias("names")).first()
        if first is None:
            continue
        missing = [name for name in key if name not in first["names"]]
        if missing:
            raise UserError(
                f"flow `{flow}` has no column `{missing[0]}` to identify rows by",
                f"its columns are {', '.join(sorted(first['names']))}; use --flow to compare flows one by one",
            )


def _inferred(spark: "SparkSession", project: Project, flow: Flow) -> tuple[str, ...]:
    """The columns that the flow groups by; otherwise the column of the record key, or none."""
    from barnabas.pipeline.driver.parts import part_for
    from barnabas.pipeline.flow.plan import plan
    from barnabas.pipeline.project.model import METADATA_COLUMNS

    aside = spark.newSession()

    def nothing(source: Source) -> "DataFrame":
        options = source_options(project, source)
        return aside.read.format("barnabas").options(**options).option("endingOffsets", "latest").load().limit(0)

    part = part_for(project, [flow.name])
    found = group_columns(plan(part, aside, nothing, streaming=False).flows[flow.name])
    names = tuple(name for name in found if name not in METADATA_COLUMNS)
    output = flow.output
    if not names and isinstance(output, TopicOutput) and output.key is not None and output.mode is not Mode.APPEND:
        return (output.key,)
    return names
