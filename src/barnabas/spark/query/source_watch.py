"""Watches one source of a running query: commits its offsets and measures its lag, with its own client.

The source itself lives in another process and runs only when Spark calls it. The watch continues while a batch takes
hours or hangs, so that the growing lag can be seen.
"""

import dataclasses
import logging
from collections.abc import Callable

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.properties import client_settings
from barnabas.client.settings import ClientSettings
from barnabas.spark.query.backlog import oldest_unread_ms
from barnabas.spark.query.group import QueryGroup, start_digest
from barnabas.spark.query.lag import PartitionLag, PartitionMeter
from barnabas.spark.query.plan import PlannedSource
from barnabas.spark.query.progress import Offsets, Partition
from barnabas.spark.query.views import SourceView
from barnabas.wire.errors import ErrorCode

_log = logging.getLogger("barnabas.spark")

RECOMMIT_EVERY_S = 3600.0
"""Brokers delete offsets of groups without members after days (`offsets.retention.minutes`)."""
PATIENCE_S = 5.0
"""For one request. A late measurement is repeated soon; other queries wait meanwhile."""
_AGES_MAX = 100
"""Ages looked up per measurement, the largest lags first: each costs a batch on the wire."""


class SourceWatch:
    def __init__(
        self,
        index: int,
        planned: PlannedSource,
        *,
        open_cluster: Callable[[ClientSettings], Cluster] | None = None,
    ) -> None:
        """BadProperty if the client cannot use the options."""
        settings = client_settings(planned.client_properties)
        self._settings = dataclasses.replace(settings, request_timeout_s=min(settings.request_timeout_s, PATIENCE_S))
        self._open_cluster = open_cluster or (lambda settings: Cluster(settings, retry_for_s=PATIENCE_S))
        self._cluster: Cluster | None = None
        self._index = index
        group_id = planned.group_id
        start = start_digest(planned.options)
        self._group = None if group_id is None else QueryGroup(self._opened, group_id, start=start)
        self._positions: dict[Partition, int] = {}
        self._moved_s: float | None = None
        self._pace_s: float | None = None
        """Seconds between the last two batches that have read something; 0 after the first."""
        self._meters: dict[Partition, PartitionMeter] = {}
        self._ages: dict[Partition, tuple[int, int]] = {}
        """By partition: an offset and its timestamp. Looked up again when the position has moved."""
        self._lags: tuple[PartitionLag, ...] = ()
        self._measured_ms: int | None = None
        self._trouble: str | None = None
        self._committed_s: float | None = None
        self._is_commit_due = False
        """The last commit failed, and the next batch may be a long time away."""
        self.commits_failed = 0

    def finished(self, end: Offsets, now_s: float) -> None:
        """A batch up to these offsets is done, and is in Spark's checkpoint."""
        if not end:
            return
        if dict(end) != self._positions or self._pace_s is None:
            self._pace_s = 0.0 if self._moved_s is None else now_s - self._moved_s
            self._moved_s = now_s
        self._positions = dict(end)
        self._commit(now_s, anew=False)

    def measure(self, now_s: float, now_ms: int) -> None:
        """Ask the broker; after a failure the last measurements stay, with the reason."""
        try:
            if not self._positions and self._group is not None:
                self._positions = self._group.committed()
            if self._positions:
                self._lags = self._measured(now_s)
                self._measured_ms = now_ms
            self._trouble = None
        except ClientError as error:
            if self._trouble is None:
                _log.warning("The lag of a query cannot be measured at the moment: %s", error)
            self._trouble = str(error)
        if self._is_commit_due:
            self._commit(now_s, anew=False)
        elif self._committed_s is not None and now_s - self._committed_s >= RECOMMIT_EVERY_S:
            self._commit(now_s, anew=True)

    def view(self) -> SourceView:
        return SourceView(
            index=self._index,
            bootstrap_servers=self._settings.bootstrap_servers,
            group_id=None if self._group is None else self._group.group_id,
            measured_ms=self._measured_ms,
            trouble=self._trouble,
            partitions=self._lags,
        )

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _opened(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._open_cluster(self._settings)
        return self._cluster

    def _commit(self, now_s: float, *, anew: bool) -> None:
        if self._group is None:
            return
        self._is_commit_due = not self._group.advance(self._positions, anew=anew)
        if self._is_commit_due:
            self.commits_failed += 1
        else:
            self._committed_s = now_s

    def _measured(self, now_s: float) -> tuple[PartitionLag, ...]:
        cluster = self._opened()
        ends = cluster.offsets(self._positions, LATEST, isolation_level=self._settings.isolation_level)
        starts = cluster.offsets(self._positions, EARLIEST)
        there = [
            place
            for place in sorted(self._positions)
            if ends[place].error == ErrorCode.none and starts[place].error == ErrorCode.none
        ]
        unread = {
            place: max(self._positions[place], starts[place].offset)
            for place in there
            if ends[place].offset > self._positions[place]
        }
        self._date(cluster, unread, {place: ends[place].offset - first for place, first in unread.items()})
        lags = []
        for place in there:
            age = self._ages.get(place)
            lags.append(
                self._meters.setdefault(place, PartitionMeter(*place)).measure(
                    now_s,
                    position=self._positions[place],
                    log_start=starts[place].offset,
                    log_end=ends[place].offset,
                    oldest_unread_ms=None if age is None else age[1],
                    pace_s=self._pace_s,
                )
            )
        return tuple(lags)

    def _date(self, cluster: Cluster, unread: Offsets, lags: dict[Partition, int]) -> None:
        """Look up when the first unread record of each partition was written, and drop outdated entries."""
        self._ages = {place: age for place, age in self._ages.items() if unread.get(place) == age[0]}
        due = sorted((place for place in unread if place not in self._ages), key=lambda place: -lags[place])[:_AGES_MAX]
        found = oldest_unread_ms(cluster, {place: unread[place] for place in due})
        self._ages.update({place: (unread[place], timestamp_ms) for place, timestamp_ms in found.items()})
