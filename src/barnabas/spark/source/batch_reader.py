"""The reader that Spark uses for `spark.read`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from barnabas.spark.options.source import SourceOptions
from barnabas.spark.source.partition import RangesPartition
from barnabas.spark.source.predicate import Predicate

if TYPE_CHECKING:
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

    def _planned(self, predicate: Predicate | None) -> list[InputPartition]:
        from barnabas.spark.source.batch import tasks

        return [RangesPartition(ranges) for ranges in tasks(self._options, predicate)]


class PushingBatchReader(BatchReader):
    """Uses the filters of a query to read less, if the user asks for it.

    It is not the default, because Spark 4.3 keeps one plan per `load()`: of two queries on one DataFrame with different
    filters, the first gets the ranges that the filters of the second left over, or the other way round. A user who asks
    for `pushDownPredicate` knows that each `load()` then serves one query.
    """

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        super().__init__(options, columns)
        self._predicate = Predicate()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        left = [given for given in filters if not self._predicate.take(given)]
        self._timestamp_ms = (self._predicate.since_ms, self._predicate.until_ms)
        return left

    def partitions(self) -> list[InputPartition]:
        return self._planned(self._predicate)

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get ranges; the predicate stays here, and holds functions that cannot be pickled."""
        return {**self.__dict__, "_predicate": None}
