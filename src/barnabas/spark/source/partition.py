"""The input of a Spark task."""

from pyspark.sql.datasource import InputPartition

from barnabas.spark.source.ranges import OffsetRange


class RangesPartition(InputPartition):
    """Some offset ranges, of one or of several partitions of topics."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(None)
        self.ranges = ranges
