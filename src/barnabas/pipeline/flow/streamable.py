"""Checks whether flows can run as streams: Spark supports less there, and tests run them as batches.

A query that sorts everything, or an appended count without a watermark, would pass its tests and fail in `run`. Spark
can check that beforehand: it only needs the plan, no rows.
"""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructField, StructType

from barnabas.pipeline.flow.mistakes import in_function, in_query
from barnabas.pipeline.flow.plan import plan
from barnabas.pipeline.project.model import ConsoleOutput, Flow, Mode, Project, Source, SqlQuery, TopicOutput
from barnabas.spark.errors import UserError


def unstreamable(project: Project, spark: SparkSession) -> list[UserError]:
    """The errors that Spark would raise for each flow with an output when it is run."""
    made = plan(project, spark, lambda source: _empty_stream(spark, source), streaming=True)
    found = []
    for flow in project.running_flows():
        try:
            _check(project, flow, made.flows[flow.name], spark)
        except UserError as error:
            found.append(error)
    return found


def _check(project: Project, flow: Flow, rows: DataFrame, spark: SparkSession) -> None:
    if not rows.isStreaming:
        raise UserError(
            f"flow `{flow.name}` is not a stream: what it returns does not depend on any source",
            "return a DataFrame that is made from its inputs",
        )
    jvm: Any = spark._jvm
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    mode = {Mode.APPEND: modes.Append, Mode.UPDATE: modes.Update, Mode.COMPLETE: modes.Complete}[_mode(flow)]()
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    analyzed = rows._jdf.queryExecution().analyzed()
    transform = flow.transform
    with in_query(flow, transform) if isinstance(transform, SqlQuery) else in_function(flow, transform, project):
        checker.checkForStreaming(analyzed, mode)


def _mode(flow: Flow) -> Mode:
    return flow.output.mode if isinstance(flow.output, TopicOutput | ConsoleOutput) else Mode.APPEND


def _empty_stream(spark: SparkSession, source: Source) -> DataFrame:
    """A stream with the columns of a source, which is never started."""
    from barnabas.spark.source.columns import default_schema

    schema: StructType = default_schema(None, include_headers=True)

    def null(field: StructField) -> Any:
        return fn.lit(None).cast(field.dataType).alias(field.name)

    return spark.readStream.format("rate").load().select(*map(null, schema.fields))
