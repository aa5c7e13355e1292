"""The reader for `spark.read` that takes filters: Spark offers them to sources in Python since 4.1."""

from collections.abc import Iterable
from typing import Any

from pyspark.sql.datasource import Filter, InputPartition

from barnabas.spark.options.source import SourceOptions
from barnabas.spark.source.batch_reader import BatchReader
from barnabas.spark.source.predicate import Predicate


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
