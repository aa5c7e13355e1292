"""Applies rules, and decides what happens to rows that break them. All of it is counted (`flow.metrics`).

The fate of a row is one column, computed once: first the schema, then the strictest rule that it breaks, then lateness.
A separate stage takes the counts (`observe`). The optimizer moves no filter through it, so rows are decoded and judged
once, not once for each filter.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import BooleanType, NullType

from barnabas.pipeline.flow import metrics
from barnabas.pipeline.flow.mistakes import in_rule
from barnabas.pipeline.flow.names import BROKE_RULE, BROKE_SCHEMA, DROPPED, FATE, KEPT, LATE, MISFIT, broken, quoted
from barnabas.pipeline.project.model import METADATA_COLUMNS, Expectation, Flow, Late, Otherwise, Source
from barnabas.spark.errors import HINT, UserError

_ROW_SHOWN = 400
_ERROR = "barnabas.pipeline.RuleBroken"
"""The marker that `barnabas.spark.readable` looks for in Spark's errors; the message follows it."""


def judge_source(decoded: DataFrame, source: Source) -> DataFrame:
    """Rows of `flow.decode` with their fate."""
    before: list[tuple[Column, Column]] = [(fn.col(MISFIT), fn.lit(BROKE_SCHEMA))]
    after = [(_late(source.late), fn.lit(LATE))] if source.late else []
    counted = {
        metrics.MISFITS: fn.col(FATE) == BROKE_SCHEMA,
        metrics.DEAD: fn.col(FATE).isin(BROKE_SCHEMA, BROKE_RULE),
        metrics.LATE: fn.col(FATE) == LATE,
    }
    return _judged(decoded, source, before, after, counted)


def judge_flow(rows: DataFrame, flow: Flow) -> DataFrame:
    """Rows of a flow with their fate."""
    return _judged(rows, flow, [], [], {metrics.DEAD: fn.col(FATE) == BROKE_RULE})


def kept(judged: DataFrame, columns: Sequence[str]) -> DataFrame:
    return judged.where(fn.col(FATE) == KEPT).select(*map(quoted, columns))


def _judged(
    rows: DataFrame,
    owner: Source | Flow,
    before: list[tuple[Column, Column]],
    after: list[tuple[Column, Column]],
    counted: dict[str, Column],
) -> DataFrame:
    fits = ~fn.col(MISFIT) if MISFIT in rows.columns else fn.lit(True)
    flags = {rule.name: fn.when(fits, ~_holds(rows, owner, rule)).otherwise(False) for rule in owner.expect}
    flagged = rows.select("*", *(flag.alias(broken(name)) for name, flag in flags.items()))
    cases = [*before, *_cases(flagged, owner), *after]
    fate = fn.lit(KEPT)
    for condition, becomes in reversed(cases):
        fate = fn.when(condition, becomes).otherwise(fate)
    counted = {**counted, metrics.DROPPED: fn.col(FATE) == DROPPED}
    counted |= {metrics.rule_column(rule.name): fn.col(broken(rule.name)) for rule in owner.expect}
    return flagged.withColumn(FATE, fate).observe(
        owner.name,
        fn.count(fn.lit(1)).alias(metrics.ROWS),
        *(fn.count_if(condition).alias(name) for name, condition in counted.items()),
    )


def _holds(rows: DataFrame, owner: Source | Flow, rule: Expectation) -> Column:
    """Never null. A rule that Spark cannot parse is reported with its place."""
    with in_rule(owner, rule):
        # In parentheses on lines of their own, so that an OR or a comment in a rule cannot affect the surrounding text.
        condition = fn.expr(f"(\n{rule.rule}\n)")
        found = rows.select(condition.alias("rule")).schema["rule"].dataType
        if not isinstance(found, BooleanType | NullType):
            raise UserError(
                f"the rule is {found.simpleString()}, not true or false", "write a condition, such as `value > 0`"
            )
    return fn.coalesce(condition, fn.lit(False))


def _cases(flagged: DataFrame, owner: Source | Flow) -> list[tuple[Column, Column]]:
    """The fate for each kind of broken rule, the strictest first."""
    cases = [
        (fn.col(broken(rule.name)), _fail(flagged, owner, rule))
        for rule in owner.expect
        if rule.otherwise is Otherwise.FAIL
    ]
    for otherwise, becomes in ((Otherwise.DEAD_LETTER, BROKE_RULE), (Otherwise.DROP, DROPPED)):
        flags = [fn.col(broken(rule.name)) for rule in owner.expect if rule.otherwise is otherwise]
        if flags:
            cases.append((reduce(lambda one, other: one | other, flags), fn.lit(becomes)))
    return cases


def _fail(flagged: DataFrame, owner: Source | Flow, rule: Expectation) -> Column:
    what = "source" if isinstance(owner, Source) else "flow"
    columns = [name for name in flagged.columns if not name.startswith("__barnabas")]
    shown = [quoted(name) for name in columns if name not in METADATA_COLUMNS]
    pieces = [
        fn.lit(f"\n{_ERROR}: {what} `{owner.name}`: a row breaks the rule `{rule.name}`: {_one_line(rule.rule)}\n")
    ]
    if {"_topic", "_partition", "_offset"} <= set(columns):
        place = fn.format_string(
            "  topic %s, partition %d, offset %d\n", fn.col("_topic"), fn.col("_partition"), fn.col("_offset")
        )
        pieces.append(fn.coalesce(place, fn.lit("")))
    row = fn.to_json(fn.struct(*shown)) if shown else fn.lit("{}")
    pieces.append(fn.concat(fn.lit("  "), fn.left(row, fn.lit(_ROW_SHOWN)), fn.lit("\n")))
    pieces.append(fn.lit(f"{HINT}correct the data or the rule; `otherwise: dead-letter` puts such rows aside\n"))
    return fn.raise_error(fn.concat(*pieces)).cast("string")


def _late(late: Late) -> Column:
    """By the record's own timestamp, so that a replay finds the same rows late."""
    happened = fn.unix_micros(fn.col(quoted(late.column)).cast("timestamp"))
    return fn.unix_micros(fn.col("_timestamp")) - happened > late.after.ms * 1000


def _one_line(text: str) -> str:
    return " ".join(text.split())
