"""Makes dead letters: refused records and rows, with the reason in their headers (`flow.dead_letter_headers`)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from barnabas.pipeline.flow import dead_letter_headers as names
from barnabas.pipeline.flow.misfits import explaining
from barnabas.pipeline.flow.names import BROKE_RULE, BROKE_SCHEMA, FATE, MISFIT, VALUE, broken, quoted
from barnabas.pipeline.project.model import Flow, Otherwise, Project, Source, TopicOutput

_HEADERS_TYPE = "array<struct<key:string,value:binary>>"


def of_source(judged: DataFrame, project: Project, source: Source, version: str) -> DataFrame:
    """Each is the original record: key, value, headers and timestamp."""
    dead = judged.where(fn.col(FATE).isin(BROKE_SCHEMA, BROKE_RULE))
    error, rule = _rule_texts(source)
    misfit = explaining(source)(fn.col(VALUE))
    error = fn.when(fn.col(MISFIT), misfit).otherwise(error)
    rule = fn.when(~fn.col(MISFIT), rule)
    return dead.select(
        fn.col("_key").alias("key"),
        fn.col(VALUE).alias("value"),
        _headers(project, source.name, version, error, rule, set(judged.columns)).alias("headers"),
        fn.col("_timestamp").alias("timestamp"),
    )


def of_flow(judged: DataFrame, project: Project, flow: Flow, version: str) -> DataFrame:
    """Each is the row as JSON, with the key that the output would have."""
    columns = [name for name in judged.columns if not name.startswith("__barnabas")]
    shown = [quoted(name) for name in columns if name != "_headers" and name != "_key"]
    key = flow.output.key if isinstance(flow.output, TopicOutput) else None
    error, rule = _rule_texts(flow)
    timestamp = fn.col("_timestamp") if "_timestamp" in columns else fn.lit(None).cast("timestamp")
    return judged.where(fn.col(FATE) == BROKE_RULE).select(
        (fn.col(quoted(key)).cast("string").cast("binary") if key else fn.lit(None).cast("binary")).alias("key"),
        fn.encode(fn.to_json(fn.struct(*shown)), "utf-8").alias("value"),
        _headers(project, flow.name, version, error, rule, set(columns)).alias("headers"),
        timestamp.alias("timestamp"),
    )


def _rule_texts(owner: Source | Flow) -> tuple[Column, Column]:
    """The error and the name of the first broken rule that makes dead letters; null if there is none."""
    error = rule = fn.lit(None).cast("string")
    for each in reversed(owner.expect):
        if each.otherwise is Otherwise.DEAD_LETTER:
            text = f"breaks the rule `{each.name}`: {' '.join(each.rule.split())}"
            error = fn.when(fn.col(broken(each.name)), fn.lit(text)).otherwise(error)
            rule = fn.when(fn.col(broken(each.name)), fn.lit(each.name)).otherwise(rule)
    return error, rule


def _headers(project: Project, owner: str, version: str, error: Column, rule: Column, columns: set[str]) -> Column:
    values: dict[str, Column] = {
        names.ERROR: error,
        names.RULE: rule,
        names.FLOW: fn.lit(owner),
        names.PIPELINE: fn.lit(project.name),
        names.VERSION: fn.lit(version),
    }
    place = {
        names.TOPIC: ("_topic", fn.col("_topic")),
        names.PARTITION: ("_partition", fn.col("_partition")),
        names.OFFSET: ("_offset", fn.col("_offset")),
        names.TIMESTAMP: ("_timestamp", fn.unix_millis(fn.col("_timestamp"))),
    }
    values |= {name: value for name, (column, value) in place.items() if column in columns}
    ours = fn.array(
        *(
            fn.struct(fn.lit(name).alias("key"), fn.encode(value.cast("string"), "utf-8").alias("value"))
            for name, value in values.items()
        )
    )
    there = fn.filter(ours, lambda header: header["value"].isNotNull())
    if "_headers" in columns:
        # A record that was sent again still has headers of the first time; of those only the count of attempts is kept.
        own = fn.filter(
            fn.col("_headers"),
            lambda header: ~header["key"].startswith(names.PREFIX) | (header["key"] == names.ATTEMPT),
        )
        there = fn.concat(fn.coalesce(own, fn.array().cast(_HEADERS_TYPE)), there)
    return there.cast(_HEADERS_TYPE)
