"""How a running flow reads its sources: where it begins, with which consumer group, and how much at once."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from barnabas.pipeline.flow.reading import source_options
from barnabas.pipeline.project.model import Project, Source, Start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Begin = Start | int
"""Where to begin without a checkpoint; a number is a record timestamp, in milliseconds since 1970."""

_ROWS_PER_BATCH: Final = "1000000"
"""A backlog is read in several batches: progress survives a crash, and memory is bounded."""
_TIME_PER_BATCH: Final = "1d"
"""With a watermark, each batch ends at the same timestamp in all partitions. Otherwise the faster partitions would
advance the watermark past rows of the slower ones. Any length of batch works for that."""


def stream_reader(
    spark: "SparkSession", project: Project, group: str, begin: Mapping[str, Begin]
) -> "Callable[[Source], DataFrame]":
    """For `plan`. `begin`: by source, where it overrides the project."""

    def read(source: Source) -> "DataFrame":
        options = stream_options(project, source, group, begin.get(source.name, source.start))
        return spark.readStream.format("barnabas").options(**options).load()

    return read


def stream_options(project: Project, source: Source, group: str, begin: Begin) -> dict[str, str]:
    options = source_options(project, source)
    if isinstance(begin, Start):
        options["startingOffsets"] = begin.value
    else:
        options |= {"startingTimestamp": str(begin), "startingOffsetsByTimestampStrategy": "latest"}
    options["kafka.group.id"] = group
    given = {name.lower() for name in options}
    defaults = {"maxOffsetsPerTrigger": _ROWS_PER_BATCH}
    if source.watermark is not None:
        defaults["maxTimePerTrigger"] = _TIME_PER_BATCH
    return options | {name: value for name, value in defaults.items() if name.lower() not in given}
