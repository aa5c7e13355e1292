"""A project as DataFrames: the same functions for a stream, for a preview and for a test.

    read(source) -> decode -> misfits are dead -> rules -> late rows -> watermark -> duplicates -> flows -> their rules

`read` gives the connector's columns, `headers` with them (`flow.reading.source_options`). Everything is known by its
name in SQL: sources, tables and flows become temporary views of the session, so a session holds one plan at a time
(`spark.newSession()` is cheap).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipeline.location import FIRST_VERSION
from barnabas.pipeline.project.model import Project, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Plan:
    """DataFrames by the names of the project; all of them streaming, or none."""

    sources: "Mapping[str, DataFrame]"
    """Decoded, with METADATA_COLUMNS; rules applied, late rows left out, watermark set, duplicates removed."""
    flows: "Mapping[str, DataFrame]"
    """Every flow, views too; its own rules applied."""
    dead: "Mapping[str, DataFrame]"
    """Dead letters of a source or flow, where there can be any: key, value, headers, timestamp, as the sink takes
    them. Those of a flow must be written in the flow's own output mode."""


def plan(
    project: Project,
    spark: "SparkSession",
    read: "Callable[[Source], DataFrame]",
    *,
    streaming: bool,
    version: str = FIRST_VERSION,
) -> Plan:
    """Raises `UserError` for what is wrong with queries, functions and rules; each has its place in a file."""
    raise NotImplementedError
