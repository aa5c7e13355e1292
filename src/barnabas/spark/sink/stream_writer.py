"""`df.writeStream.format("barnabas")`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from barnabas.spark.sink.writing import Writing

if TYPE_CHECKING:
    from barnabas.spark.options.sink import SinkOptions


class StreamWriter(DataSourceStreamArrowWriter):
    """Appends the rows of each batch to topics.

    In complete mode, every batch appends the whole result again, as with Spark's own connector.
    """

    def __init__(self, options: "SinkOptions", schema: StructType) -> None:
        self.writing = Writing(options, schema, streaming=True)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self.writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, Spark's name
        self.writing.commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, Spark's name
        self.writing.abort(messages, batchId)
