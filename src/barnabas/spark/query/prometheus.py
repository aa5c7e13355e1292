"""Views of queries as Prometheus metrics.

`kafka_consumergroup_*` have the names and labels of the widely used Kafka exporter, so that its dashboards and alerts
show a query as they show any consumer group. `barnabas_query_*` are what such exporters cannot know.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from barnabas.spark.query.lag import PartitionLag
from barnabas.spark.query.views import RUNNING, QueryView, SourceView

_QUERY = ("query", "query_id")
_SOURCE = (*_QUERY, "source", "group")
_PARTITION = (*_SOURCE, "topic", "partition")


class QueryCollector(Collector):
    """Called at each scrape; returns the last measurements of the watcher."""

    def __init__(self, views: Callable[[], Sequence[QueryView]], wall_clock: Callable[[], float] = time.time) -> None:
        self._views = views
        self._wall_clock = wall_clock

    def describe(self) -> list[Metric]:
        """Empty at registration: queries come and go."""
        return []

    def collect(self) -> Iterator[Metric]:
        views = self._views()
        running = [view for view in views if view.state == RUNNING]
        yield from _query_metrics(views, running)
        yield from _source_metrics(running)
        yield from _partition_metrics(running, round(self._wall_clock() * 1000))
        yield from _group_metrics(running)


def _query_metrics(views: Sequence[QueryView], running: Sequence[QueryView]) -> Iterator[Metric]:
    state = GaugeMetricFamily("barnabas_query_running", "1 while the query runs, 0 when it has ended.", labels=_QUERY)
    batch = GaugeMetricFamily("barnabas_query_batch_id", "The last finished batch.", labels=_QUERY)
    duration = GaugeMetricFamily(
        "barnabas_query_batch_duration_seconds", "How long the last finished batch took.", labels=_QUERY
    )
    finished = GaugeMetricFamily(
        "barnabas_query_batch_finished_timestamp_seconds", "When the last finished batch ended.", labels=_QUERY
    )
    rows = CounterMetricFamily("barnabas_query_rows", "Rows read since the query was started.", labels=_QUERY)
    failed = CounterMetricFamily(
        "barnabas_query_commit_failures",
        "Commits to the group that were refused or not answered.",
        labels=_QUERY,
    )
    for view in views:
        state.add_metric(_query(view), float(view.state == RUNNING))
    for view in running:
        rows.add_metric(_query(view), view.rows_total)
        failed.add_metric(_query(view), view.commits_failed)
        if view.batch_id is not None and view.batch_duration_ms is not None and view.finished_ms is not None:
            batch.add_metric(_query(view), view.batch_id)
            duration.add_metric(_query(view), view.batch_duration_ms / 1000)
            finished.add_metric(_query(view), view.finished_ms / 1000)
    yield from (state, batch, duration, finished, rows, failed)


def _source_metrics(running: Sequence[QueryView]) -> Iterator[Metric]:
    arriving = GaugeMetricFamily(
        "barnabas_query_in_records_per_second", "How fast the topics of the source grow.", labels=_SOURCE
    )
    reading = GaugeMetricFamily("barnabas_query_out_records_per_second", "How fast it is read.", labels=_SOURCE)
    catching_up = GaugeMetricFamily(
        "barnabas_query_catch_up_seconds", "Until the backlog is gone at these rates; +Inf: never.", labels=_SOURCE
    )
    measured = GaugeMetricFamily(
        "barnabas_query_measured_timestamp_seconds", "When the broker last answered.", labels=_SOURCE
    )
    for view, source in _sources(running):
        for metric, value in (
            (arriving, source.in_per_second),
            (reading, source.out_per_second),
            (catching_up, source.catch_up_s),
            (measured, None if source.measured_ms is None else source.measured_ms / 1000),
        ):
            if value is not None:
                metric.add_metric(_source(view, source), value)
    yield from (arriving, reading, catching_up, measured)


def _partition_metrics(running: Sequence[QueryView], now_ms: int) -> Iterator[Metric]:
    lag = GaugeMetricFamily("barnabas_query_lag_records", "Offsets that are not read yet.", labels=_PARTITION)
    age = GaugeMetricFamily(
        "barnabas_query_backlog_age_seconds", "Age of the oldest record that is not read yet.", labels=_PARTITION
    )
    headroom = GaugeMetricFamily(
        "barnabas_query_retention_headroom_records",
        "Offsets between the start of the log and the query; below 0, records were deleted before they were read.",
        labels=_PARTITION,
    )
    for view, source in _sources(running):
        for partition in source.partitions:
            labels = [*_source(view, source), *_place(partition)]
            lag.add_metric(labels, partition.lag)
            headroom.add_metric(labels, partition.headroom)
            age_s = partition.age_s(now_ms)
            if age_s is not None:
                age.add_metric(labels, age_s)
    yield from (lag, age, headroom)


def _group_metrics(running: Sequence[QueryView]) -> Iterator[Metric]:
    """Two sources may read the same partition in one group; a series may occur only once, so the later one is used."""
    by_place: dict[tuple[str, str, str], PartitionLag] = {}
    for _, source in _sources(running):
        if source.group_id is not None:
            by_place.update({(source.group_id, *_place(one)): one for one in source.partitions})
    place = ("consumergroup", "topic", "partition")
    lag = GaugeMetricFamily("kafka_consumergroup_lag", "Current approximate lag of a consumer group.", labels=place)
    offset = GaugeMetricFamily(
        "kafka_consumergroup_current_offset", "Current offset of a consumer group.", labels=place
    )
    total = GaugeMetricFamily(
        "kafka_consumergroup_lag_sum", "Lag of a consumer group over a topic's partitions.", labels=place[:2]
    )
    sums: dict[tuple[str, str], int] = {}
    for labels, one in by_place.items():
        lag.add_metric(labels, one.lag)
        offset.add_metric(labels, one.position)
        sums[labels[:2]] = sums.get(labels[:2], 0) + one.lag
    for of_topic, count in sums.items():
        total.add_metric(of_topic, count)
    yield from (lag, offset, total)


def _sources(running: Sequence[QueryView]) -> Iterator[tuple[QueryView, SourceView]]:
    return ((view, source) for view in running for source in view.sources)


def _query(view: QueryView) -> list[str]:
    return [view.title, view.query_id]


def _source(view: QueryView, source: SourceView) -> list[str]:
    return [*_query(view), str(source.index), source.group_id or ""]


def _place(partition: PartitionLag) -> tuple[str, str]:
    return partition.topic, str(partition.partition)
