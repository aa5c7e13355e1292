"""Where a streaming frame goes: topics and tables exactly once, the console as it comes.

Spark has no update mode for sinks in Python. Such rows are written batch by batch in `foreachBatch`, each with the
query's id and the batch's number, so that a batch which is repeated writes nothing twice.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.driver.failures import in_short
from barnabas.pipeline.driver.outputs import records_of, written
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
class Running:
    """How a query runs, whatever it writes."""

    name: str
    checkpoint: Path
    once: bool
    trigger: Duration | None


def flow_start(project: Project, frame: "DataFrame", output: Output, flow: str, running: Running) -> Start:
    """Starts the query; again after it has ended, too."""
    if isinstance(output, TopicOutput):
        return _topic(project, records_of(frame, output, flow), output, running)
    if isinstance(output, TableOutput):
        return _table(written(frame), output, flow, running)
    assert isinstance(output, ConsoleOutput)
    writer = _writer(written(frame), running).format("console").option("truncate", "false")
    return writer.outputMode(output.mode.value).start


def dead_letters_start(project: Project, frame: "DataFrame", mode: Mode, running: Running) -> Start:
    """`mode`: that of the flow whose dead letters they are; append for those of a source."""
    output = TopicOutput(topic=project.dead_letters.topic, key=None, format=OutputFormat.BINARY, mode=mode, options={})
    return _topic(project, frame, output, running)


def refuse_unsupported(spark: "SparkSession", frame: "DataFrame", mode: Mode, flow: str) -> None:
    """What Spark cannot do with a stream in this mode, told before anything runs."""
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


def _topic(project: Project, records: "DataFrame", output: TopicOutput, running: Running) -> Start:
    options = {**project.log.spark_options(), **output.options, "topic": output.topic, "exactlyOnce": "true"}
    writer = _writer(records, running).outputMode(output.mode.value)
    if output.mode is Mode.UPDATE:
        return writer.foreachBatch(_numbered_writes(project, options, running)).start
    return writer.format("barnabas").options(**options).start


def _numbered_writes(project: Project, options: dict[str, str], running: Running) -> "Callable[[DataFrame, int], None]":
    def write(rows: "DataFrame", batch_id: int) -> None:
        try:
            activate(rows.sparkSession)
            number = {"txnAppId": query_id(running.checkpoint), "txnVersion": str(batch_id)}
            rows.write.format("barnabas").options(**options, **number).mode("append").save()
        except Exception as error:
            raise in_short(error, project, running.name) from None

    return write


def query_id(checkpoint: Path) -> str:
    """Spark keeps it in the checkpoint from the first batch on: whoever has the checkpoint is the query."""
    try:
        return str(json.loads((checkpoint / "metadata").read_text())["id"])
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"the checkpoint {checkpoint} does not say which query it belongs to: {error}",
            "restore it from a backup; or write everything again, beside it: barnabas pipeline replay --as NAME",
        ) from None


def _table(rows: "DataFrame", output: TableOutput, flow: str, running: Running) -> Start:
    known = {name.lower(): name for name in rows.columns}
    missing = [name for name in output.partition_by if name.lower() not in known]
    if missing:
        raise UserError(
            f"the output of flow `{flow}` has `partition_by: {missing[0]}`, and the flow has no such column",
            f"its columns are {', '.join(rows.columns)}",
        )
    writer = _writer(rows, running).outputMode("append").format("parquet").option("path", output.path)
    if output.partition_by:
        writer = writer.partitionBy(*(known[name.lower()] for name in output.partition_by))
    return writer.start


def _writer(frame: "DataFrame", running: Running) -> "DataStreamWriter":
    writer = frame.writeStream.queryName(running.name).option("checkpointLocation", str(running.checkpoint))
    if running.once:
        return writer.trigger(availableNow=True)
    every: Any = "0 seconds" if running.trigger is None else running.trigger.spark
    return writer.trigger(processingTime=every)
