"""The last records of a topic, a few of each partition, read without Spark."""

from typing import Any

from barnabas.client.cluster import Cluster
from barnabas.pipeline.flow.reading import source_options
from barnabas.pipeline.project.model import Project, Source
from barnabas.spark.arrow.schema import COLUMN_TYPES, arrow_schema
from barnabas.spark.options.source import SourceOptions, general_options
from barnabas.spark.source import resolution
from barnabas.spark.source.cluster_connection import ClusterConnection
from barnabas.spark.source.fetch import read_range
from barnabas.spark.source.ranges import OffsetRange
from barnabas.spark.source.topics import Topics

_COLUMNS = tuple(COLUMN_TYPES)
_WIDER = 8
"""How many times more offsets to read when too few of them have a record."""


def latest_records(project: Project, source: Source, count: int) -> Any:
    """An Arrow table with the connector's columns: at most `count` records of each partition, the newest.

    Not every offset has a record: transaction markers and aborted records take some, and compaction removes records. So
    it reads further back until there are enough, or the start of the log is reached.
    """
    import pyarrow as pa

    options = general_options(source_options(project, source))
    connection = ClusterConnection(options)
    try:
        batches = connection.ask(lambda cluster: _all(cluster, options, count))
    finally:
        connection.close()
    return pa.Table.from_batches(batches, arrow_schema(_COLUMNS))


def _all(cluster: Cluster, options: SourceOptions, count: int) -> list[Any]:
    assigned = Topics(options.subscription).assigned(cluster)
    first = resolution.earliest(cluster, assigned.partitions)
    end = resolution.latest(cluster, assigned.partitions, options.isolation_level)
    batches: list[Any] = []
    for place in sorted(assigned.partitions):
        whole = OffsetRange(*place, first[place], end[place], assigned.ids.get(place.topic))
        batches += _last(cluster, whole, options.isolation_level, count)
    return batches


def _last(cluster: Cluster, whole: OffsetRange, isolation_level: int, count: int) -> list[Any]:
    import pyarrow as pa

    looked = count
    while True:
        start = max(whole.start, whole.end - looked)
        wanted = OffsetRange(whole.topic, whole.partition, start, whole.end, whole.topic_id)
        # If retention removes some meanwhile, others are used.
        found = list(
            read_range(cluster, wanted, columns=_COLUMNS, isolation_level=isolation_level, fail_on_data_loss=False)
        )
        rows = sum(batch.num_rows for batch in found)
        if rows >= count or start == whole.start:
            table = pa.Table.from_batches(found, arrow_schema(_COLUMNS))
            batches: list[Any] = table.slice(max(0, rows - count)).to_batches()
            return batches
        looked *= _WIDER
