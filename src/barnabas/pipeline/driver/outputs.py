"""The outputs of a version: names of its topics, tables and consumer groups, and rows as records."""

import dataclasses
from typing import TYPE_CHECKING

from barnabas.pipeline.location import FIRST_VERSION
from barnabas.pipeline.project.model import (
    METADATA_COLUMNS,
    Flow,
    Output,
    OutputFormat,
    Project,
    TableOutput,
    TopicOutput,
)
from barnabas.spark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEAD = "dead"


def output_of(flow: Flow, version: str) -> Output:
    """The first version writes to the names in the project; any other appends a dot and its own name."""
    output = flow.output
    if output is None:
        raise ValueError(f"the flow {flow.name} has no output")
    if version == FIRST_VERSION:
        return output
    if isinstance(output, TopicOutput):
        return dataclasses.replace(output, topic=f"{output.topic}.{version}")
    if isinstance(output, TableOutput):
        return dataclasses.replace(output, path=f"{output.path.rstrip('/')}.{version}")
    return output


def dead_letter_query_name(origin: str) -> str:
    """The name of the query that writes the dead letters of a source or a flow. No flow can have it: it has a dot."""
    return f"{origin}.{DEAD}"


def group_of(project: Project, version: str, query: str) -> str:
    """The consumer group in which lag tools see a query."""
    return f"barnabas.{project.name}.{version}.{query}"


def without_metadata(frame: "DataFrame") -> "DataFrame":
    """Drop the metadata columns that every source adds (`_offset` and the like).

    To write one to an output, rename it in the query (`_offset AS offset`).
    """
    return frame.drop(*METADATA_COLUMNS)


def records_of(frame: "DataFrame", output: TopicOutput, flow: str) -> "DataFrame":
    """Rows in the shape the sink expects: `value`, and `key` if the output has one."""
    rows = without_metadata(frame)
    columns = [_value(rows, output, flow).alias("value")]
    if output.key is not None:
        columns.insert(0, _key(rows, output.key, flow).alias("key"))
    return rows.select(*columns)


def _value(rows: "DataFrame", output: TopicOutput, flow: str) -> "Column":
    from pyspark.sql import functions
    from pyspark.sql.types import BinaryType, StringType

    everything = functions.struct(*(rows[_quoted(name)] for name in rows.columns))
    if output.format is OutputFormat.JSON:
        return functions.to_json(everything, {"ignoreNullFields": "false"})
    if output.format is OutputFormat.CSV:
        return functions.to_csv(everything)
    wanted = StringType if output.format is OutputFormat.TEXT else BinaryType
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    if not isinstance(kinds.get("value"), StringType | BinaryType):
        raise UserError(
            f"the output of flow `{flow}` is written as {output.format}, which takes the column `value`, and "
            + ("there is none" if "value" not in kinds else f"that is {kinds['value'].simpleString()}"),
            "name the column `value` and make it a string or binary, or write `format: json`",
        )
    return rows["value"].cast(wanted())


def _key(rows: "DataFrame", name: str, flow: str) -> "Column":
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

    found = [field for field in rows.schema.fields if field.name.lower() == name.lower()]
    if not found:
        raise UserError(
            f"the output of flow `{flow}` has `key: {name}`, and the flow has no such column",
            f"its columns are {', '.join(rows.columns)}",
        )
    column = rows[_quoted(found[0].name)]
    if isinstance(found[0].dataType, StringType | BinaryType):
        return column
    if isinstance(found[0].dataType, StructType | ArrayType | MapType):
        return functions.to_json(column)
    return column.cast("string")


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
