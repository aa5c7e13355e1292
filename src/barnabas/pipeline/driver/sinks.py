"""Writes a streaming DataFrame: to topics and tables exactly once, to the console as rows come.

Spark has no update mode for sinks in Python. Such rows are written batch by batch in `foreachBatch`, each with the
query's id and the batch's number, so that a repeated batch writes nothing twice.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.driver.failures import shortened
from barnabas.pipeline.driver.outputs import records_of, without_metadata
from barnabas.pipeline.project.durations import Duration
from barnabas.pipeline.project.model import ConsoleOutput, Mode, Output, OutputFormat, Project, TableOutput, TopicOutput
from barnabas.spark.errors import UserError
from barnabas.spark.launch import activate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Start = Callable[[], "StreamingQuery"]


@dataclass(frozen=True)
class QuerySettings:
    """The settings of a query, whatever it writes."""

    name: str
    checkpoint: Path
    once: bool
    trigger: Duration | None


def flow_start(project: Project, frame: "DataFrame", output: Output, flow: str, settings: QuerySettings) -> Start:
    """A function that starts the query; it can be called again after the query has ended."""
    if isinstance(output, TopicOutput):
        return _topic(project, records_of(frame, output, flow), output, settings)
    if isinstance(output, TableOutput):
        return _table(without_metadata(frame), output, flow, settings)
    assert isinstance(output, ConsoleOutput)
    writer = _writer(without_metadata(frame), settings).format("console").option("truncate", "false")
    return writer.outputMode(output.mode.value).start


def dead_letters_start(project: Project, frame: "DataFrame", mode: Mode, settings: QuerySettings) -> Start:
    """`mode`: the output mode of the flow; append for dead letters of a source."""
    output = TopicOutput(topic=project.dead_letters.topic, key=None, format=OutputFormat.BINARY, mode=mode, options={})
    return _topic(project, frame, output, settings)


def refuse_unsupported(spark: "SparkSession", frame: "DataFrame", mode: Mode, flow: str) -> None:
    """Raise what Spark does not support for a stream in this mode, before anything runs."""
    from pyspark.errors import PySparkException

    jvm: Any = spark._jvm
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    wanted = {Mode.APPEND: modes.Append, Mode.UPDATE: modes.Update, Mode.COMPLETE: modes.Complete}[mode]()
    try:
        checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), wanted)
    except PySparkException as error:
        first = str(error).partition(";")[0].partition("\n")[0].strip()
        raise UserError(
            f"flow `{flow}` cannot run as a stream with `mode: {mode}`: {first}",
            "give the source a `watermark:` and group by a window of its column, or choose another `mode:` for the "
            "output (append, update, complete)",
        ) from None


def _topic(project: Project, records: "DataFrame", output: TopicOutput, settings: QuerySettings) -> Start:
    options = {**project.log.spark_options(), **output.options, "topic": output.topic, "exactlyOnce": "true"}
    writer = _writer(records, settings).outputMode(output.mode.value)
    if output.mode is Mode.UPDATE:
        return writer.foreachBatch(_numbered_writes(project, options, settings)).start
    return writer.format("barnabas").options(**options).start


def _numbered_writes(
    project: Project, options: dict[str, str], settings: QuerySettings
) -> "Callable[[DataFrame, int], None]":
    def write(rows: "DataFrame", batch_id: int) -> None:
        try:
            activate(rows.sparkSession)
            number = {"txnAppId": query_id(settings.checkpoint), "txnVersion": str(batch_id)}
            rows.write.format("barnabas").options(**options, **number).mode("append").save()
        except Exception as error:
            raise shortened(error, project, settings.name) from None

    return write


def query_id(checkpoint: Path) -> str:
    """The id that Spark stores in the checkpoint with the first batch: the checkpoint identifies the query."""
    try:
        return str(json.loads((checkpoint / "metadata").read_text())["id"])
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"the checkpoint {checkpoint} does not say which query it belongs to: {error}",
            "restore it from a backup; or write everything again, into new outputs: barnabas pipeline replay --as NAME",
        ) from None


def _table(rows: "DataFrame", output: TableOutput, flow: str, settings: QuerySettings) -> Start:
    known = {name.lower(): name for name in rows.columns}
    missing = [name for name in output.partition_by if name.lower() not in known]
    if missing:
        raise UserError(
            f"the output of flow `{flow}` has `partition_by: {missing[0]}`, and the flow has no such column",
            f"its columns are {', '.join(rows.columns)}",
        )
    writer = _writer(rows, settings).outputMode("append").format("parquet").option("path", output.path)
    if output.partition_by:
        writer = writer.partitionBy(*(known[name.lower()] for name in output.partition_by))
    return writer.start


def _writer(frame: "DataFrame", settings: QuerySettings) -> "DataStreamWriter":
    writer = frame.writeStream.queryName(settings.name).option("checkpointLocation", str(settings.checkpoint))
    if settings.once:
        return writer.trigger(availableNow=True)
    every: Any = "0 seconds" if settings.trigger is None else settings.trigger.spark
    return writer.trigger(processingTime=every)
