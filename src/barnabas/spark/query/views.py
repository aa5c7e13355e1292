"""The state of a query, as shown to operators: plain values from the watcher, published as JSON and to Prometheus."""

import math
from dataclasses import dataclass
from typing import Any

from barnabas.spark.query.lag import PartitionLag, catch_up_s, total_rate

RUNNING, STOPPED, FAILED = "running", "stopped", "failed"


@dataclass(frozen=True, slots=True)
class SourceView:
    index: int
    """Its index in the query's progress."""
    bootstrap_servers: str
    group_id: str | None
    measured_ms: int | None
    """When the broker last answered."""
    trouble: str | None
    """Why it did not answer the last request."""
    partitions: tuple[PartitionLag, ...]

    @property
    def lag(self) -> int:
        return sum(partition.lag for partition in self.partitions)

    @property
    def in_per_second(self) -> float | None:
        return total_rate([partition.in_per_second for partition in self.partitions])

    @property
    def out_per_second(self) -> float | None:
        return total_rate([partition.out_per_second for partition in self.partitions])

    @property
    def catch_up_s(self) -> float | None:
        return catch_up_s(self.lag, self.in_per_second, self.out_per_second)

    def age_s(self, now_ms: int) -> float | None:
        """Of the oldest record in any partition; None if there is a backlog of unknown age."""
        ages = [partition.age_s(now_ms) for partition in self.partitions]
        known = [age for age in ages if age is not None]
        if not known or (None in ages and max(known) == 0):
            return None
        return max(known)

    def as_object(self, now_ms: int) -> dict[str, Any]:
        return {
            "source": self.index,
            "bootstrap_servers": self.bootstrap_servers,
            "group": self.group_id,
            "measured_ms": self.measured_ms,
            "trouble": self.trouble,
            "lag": self.lag,
            "in_per_second": self.in_per_second,
            "out_per_second": self.out_per_second,
            **_catching_up(self.catch_up_s),
            "age_seconds": self.age_s(now_ms),
            "partitions": [_partition_object(partition, now_ms) for partition in self.partitions],
        }


@dataclass(frozen=True, slots=True)
class QueryView:
    query_id: str
    run_id: str
    name: str | None
    state: str
    error: str | None
    """The first line of the error that ended it."""
    batch_id: int | None
    """The last finished batch; None before the first."""
    batch_duration_ms: int | None
    finished_ms: int | None
    rows_total: int
    """Rows read from all sources since the query was started."""
    commits_failed: int
    sources: tuple[SourceView, ...]
    """Only sources of ours."""

    @property
    def title(self) -> str:
        return self.name or self.query_id

    def as_object(self, now_ms: int) -> dict[str, Any]:
        return {
            "query": self.name,
            "id": self.query_id,
            "run_id": self.run_id,
            "state": self.state,
            "error": self.error,
            "batch_id": self.batch_id,
            "batch_duration_ms": self.batch_duration_ms,
            "finished_ms": self.finished_ms,
            "rows": self.rows_total,
            "commits_failed": self.commits_failed,
            "sources": [source.as_object(now_ms) for source in self.sources],
        }


def _partition_object(partition: PartitionLag, now_ms: int) -> dict[str, Any]:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "position": partition.position,
        "log_start": partition.log_start,
        "log_end": partition.log_end,
        "lag": partition.lag,
        "headroom": partition.headroom,
        "in_per_second": partition.in_per_second,
        "out_per_second": partition.out_per_second,
        **_catching_up(partition.catch_up_s),
        "age_seconds": partition.age_s(now_ms),
    }


def _catching_up(seconds: float | None) -> dict[str, Any]:
    """JSON has no infinity: a backlog that does not shrink has no time, and is not catching up."""
    if seconds is None:
        return {"catching_up": None, "catch_up_seconds": None}
    never = math.isinf(seconds)
    return {"catching_up": not never, "catch_up_seconds": None if never else seconds}
