"""What batch and stream writers share: a checked schema, a delivery, and readable errors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from barnabas.client.errors import ClientError
from barnabas.client.producer_settings import producer_settings
from barnabas.spark.errors import UserError
from barnabas.spark.options.kafka import readable_options
from barnabas.spark.sink.delivery import delivery_for
from barnabas.spark.sink.schema import check_schema

if TYPE_CHECKING:
    from barnabas.client.producer import Producer
    from barnabas.spark.options.sink import SinkOptions


class Writing:
    """One write. Created on the driver, where it is checked; pickled to tasks and to the committer."""

    def __init__(self, options: "SinkOptions", schema: StructType, *, streaming: bool) -> None:
        check_schema(schema, topic=options.topic)
        self._options = options
        with readable_options():
            self._settings = producer_settings(options.properties)
        self._client = options.client()
        self.delivery = delivery_for(options, streaming=streaming)

    def write(self, batches: Iterator[Any]) -> WriterCommitMessage:
        from barnabas.client.cluster import Cluster
        from barnabas.spark.sink.row_writer import RowWriter

        def write_rows(producer: "Producer") -> int:
            options = self._options
            return RowWriter(producer, topic=options.topic, partitioner_name=options.partitioner).write(batches)

        with _readable(), Cluster(self._client) as cluster:
            return self.delivery.write(cluster, self._settings, write_rows)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None = None) -> None:
        with _readable():
            self.delivery.commit(messages, batch_id)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None = None) -> None:
        with _readable():
            self.delivery.abort(messages, batch_id)


@contextmanager
def _readable() -> Iterator[None]:
    """Turn errors of the client into errors for users; the cause keeps its trace."""
    try:
        yield
    except ClientError as error:
        raise UserError(error.message, error.hint or "look at the broker's log") from error
