"""The reader that Spark uses for `spark.read`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from barnabas.spark.options.source import SourceOptions
from barnabas.spark.source.partition import RangesPartition

if TYPE_CHECKING:
    from barnabas.spark.source.predicate import Predicate
    from barnabas.spark.source.ranges import OffsetRange


class BatchReader(DataSourceReader):
    """Created on the driver, where it plans, and pickled to every task, where it reads."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._timestamp_ms: tuple[int | None, int | None] = (None, None)

    def partitions(self) -> list[InputPartition]:
        return self._planned(None)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from barnabas.spark.source.read import read_ranges

        # Spark creates its own empty partition if a plan has no tasks.
        ranges: tuple[OffsetRange, ...] = partition.ranges if isinstance(partition, RangesPartition) else ()
        return read_ranges(ranges, self._options, self._columns, timestamp_ms=self._timestamp_ms)

    def _planned(self, predicate: "Predicate | None") -> list[InputPartition]:
        from barnabas.spark.source.batch import tasks

        return [RangesPartition(ranges) for ranges in tasks(self._options, predicate)]
