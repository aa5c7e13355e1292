"""The reader that Spark uses for `spark.readStream`: what does not depend on the version of Spark.

One object of this class lives in a Python process on the driver for as long as the query runs, and holds a connection.
Copies of it go to the tasks and only read. How Spark asks for the end of a batch differs: see the two subclasses.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from barnabas.client.errors import ClientError
from barnabas.model import TopicPartition
from barnabas.spark.options.source import SourceOptions
from barnabas.spark.source.failures import to_user_error
from barnabas.spark.source.offsets import by_pair, parse
from barnabas.spark.source.partition import RangesPartition

if TYPE_CHECKING:
    from barnabas.spark.query.group import QueryGroup
    from barnabas.spark.source.ranges import OffsetRange
    from barnabas.spark.source.stream import Stream


class StreamReader(DataSourceStreamReader):
    def __init__(self, options: SourceOptions, columns: tuple[str, ...], start_digest: str) -> None:
        self._options = options
        self._columns = columns
        self._start_digest = start_digest
        self._stream: Stream | None = None
        self._group: QueryGroup | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Called until a first batch is in the checkpoint; `offsets` says how the answer survives a failed batch."""
        stream, group = self._opened()
        if group is None:
            return stream.begin().as_json()
        try:
            kept = group.initial()
            places = None if kept is None else {TopicPartition(*place): offset for place, offset in kept.items()}
            initial = stream.begin(places)
            if kept is None:
                group.keep_initial(by_pair(initial.partitions))
        except ClientError as failure:
            raise to_user_error(failure) from failure
        return initial.as_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        stream, _ = self._opened()
        return [RangesPartition(ranges) for ranges in stream.tasks(start, end)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from barnabas.spark.source.read import read_ranges

        ranges: tuple[OffsetRange, ...] = partition.ranges if isinstance(partition, RangesPartition) else ()
        return read_ranges(ranges, self._options, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Spark is done with everything before `end`. Shown in the group; the checkpoint does not depend on it."""
        _, group = self._opened()
        if group is not None:
            group.commit(by_pair(parse(end).partitions))

    def stop(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None, "_group": None}

    def _opened(self) -> "tuple[Stream, QueryGroup | None]":
        if self._stream is None:
            from barnabas.spark.query.group import QueryGroup
            from barnabas.spark.source.stream import Stream

            self._stream = stream = Stream(self._options)
            if self._options.group_id is not None:
                self._group = QueryGroup(
                    lambda: stream.connection.cluster, self._options.group_id, start=self._start_digest
                )
        return self._stream, self._group
