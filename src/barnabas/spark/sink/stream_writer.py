"""`df.writeStream.format("barnabas")`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from barnabas.spark.sink.writing import Writing

if TYPE_CHECKING:
    from barnabas.spark.options.sink import SinkOptions


class StreamWriter(DataSourceStreamWriter, DataSourceArrowWriter):
    """Appends the rows of each batch to topics.

    DataSourceStreamArrowWriter is what it should be, but Spark 4.0 has none. All versions give Arrow batches to a
    DataSourceArrowWriter, also in a stream.

    In complete mode, every batch appends the whole result again, as with Spark's own connector.
    """

    def __init__(self, options: "SinkOptions", schema: StructType) -> None:
        self.writing = Writing(options, schema, streaming=True)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self.writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]  # noqa: N803
        self.writing.commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]  # noqa: N803
        self.writing.abort(messages, batchId)
