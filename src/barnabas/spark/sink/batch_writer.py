"""`df.write.format("barnabas")`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from barnabas.spark.sink.writing import Writing

if TYPE_CHECKING:
    from barnabas.spark.options.sink import SinkOptions


class BatchWriter(DataSourceArrowWriter):
    """Appends rows to topics."""

    def __init__(self, options: "SinkOptions", schema: StructType) -> None:
        self.writing = Writing(options, schema, streaming=False)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self.writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self.writing.commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self.writing.abort(messages)
