"""The Spark session of a project: its own settings, and those that all pipelines need."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from barnabas.pipeline.project.model import Project
from barnabas.spark.defaults import is_local
from barnabas.spark.errors import wants_trace
from barnabas.spark.java import SHORT_LIVED
from barnabas.spark.launch import HERE, session
from barnabas.spark.versions import check_for_pipelines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALWAYS: Final = {
    # A time without a zone, `to_date` and windows of a day mean the same on every machine, today and in a replay.
    "spark.sql.session.timeZone": "UTC",
    # Otherwise Spark asks the JVM three times for every call of a column method, to name the line in an error: half of
    # the time of planning. We find the line of a mistake without that.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
FOR_FEW_ROWS: Final = {
    # With few rows, compiling classes takes longer than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
}
"""Settings for a session with few rows."""
_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_SHUFFLE_PARTITIONS_MAX: Final = 8
"""On one machine. Spark's default is 200, which means 200 tasks and state files for every window and join."""

_TRACES: Final = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
)


def start(project: Project, *, trace: bool = False, conf: Mapping[str, str] | None = None) -> "SparkSession":
    """`conf`: settings of the command; those of pipeline.yaml win."""
    check_for_pipelines()
    settings: dict[str, Any] = {**_ALWAYS, **(conf or {}), **project.spark.conf}
    if is_local(project.spark.master or HERE):
        settings.setdefault(_SHUFFLE_PARTITIONS, str(min(max(os.cpu_count() or 1, 2), _SHUFFLE_PARTITIONS_MAX)))
    started = session(f"barnabas {project.name}", project.spark.master, trace=True if trace else None, **settings)
    if not wants_trace():
        _silence(started)
    return started


def _silence(spark: "SparkSession") -> None:
    """Failures of tasks and queries are reported by the caller; Spark would log a JVM trace as well."""
    jvm: Any = spark._jvm
    logging = jvm.org.apache.logging.log4j
    for name in _TRACES:
        logging.core.config.Configurator.setLevel(name, logging.Level.OFF)
