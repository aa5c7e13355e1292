"""`format("barnabas")`: the class that Spark loads first. Everything else is imported when it is needed.

Spark imports this module in a new Python process each time it looks for data sources, and in every task. numpy, pyarrow
and the wire's messages take longer to import than a small query takes to run.
"""

import sys
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

_PUSHING_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"
"""The module of the Python worker that Spark starts to push filters down."""


class BarnabasDataSource(DataSource):
    """Topics of any Kafka cluster, with the options and the schema of Spark's Kafka connector."""

    def __init__(self, options: "MutableMapping[str, str]") -> None:
        from barnabas.spark import versions

        versions.check()
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "barnabas"

    def schema(self) -> "StructType":
        from barnabas.spark.options.source import general_options
        from barnabas.spark.source.columns import default_schema

        options = general_options(self.options)
        return default_schema(options.columns, include_headers=options.include_headers, typed=options.typed)

    def reader(self, schema: "StructType") -> "DataSourceReader":
        from barnabas.spark.options.source import batch_options
        from barnabas.spark.source.batch_reader import BatchReader
        from barnabas.spark.source.columns import columns_of

        options = batch_options(self.options)
        # A reader that can push filters fails every read where Spark has push-down switched off, so there must be none
        # then. The setting itself cannot be seen from here, but only where it is on does Spark start that worker.
        if options.push_down and _PUSHING_WORKER in sys.modules:
            from barnabas.spark.source.pushing_batch_reader import PushingBatchReader

            return PushingBatchReader(options, columns_of(schema, options))
        return BatchReader(options, columns_of(schema, options))

    def streamReader(self, schema: "StructType") -> "DataSourceStreamReader":  # noqa: N802 - Spark's name
        from barnabas.spark import versions
        from barnabas.spark.options.source import stream_options
        from barnabas.spark.query.group import start_digest
        from barnabas.spark.source.columns import columns_of

        options = stream_options(self.options)
        return versions.stream_reader(options, columns_of(schema, options), start_digest(self.options))

    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceWriter":
        from barnabas.spark.options.sink import sink_options
        from barnabas.spark.sink.batch_writer import BatchWriter

        if overwrite:
            from barnabas.spark.errors import UserError

            raise UserError("A topic cannot be overwritten.", 'write with mode("append")')
        return BatchWriter(sink_options(self.options), schema)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "DataSourceStreamWriter":  # noqa: N802 - Spark's name
        from barnabas.spark.options.sink import sink_options
        from barnabas.spark.sink.stream_writer import StreamWriter

        return StreamWriter(sink_options(self.options), schema)
