"""Runs in a task: reads its ranges, one after the other, as Arrow batches.

Spark uses a Python worker for many tasks, one after the other. The connection to the cluster stays open between them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.settings import ClientSettings
from barnabas.history.declared import CONNECTOR_COLUMNS, Column
from barnabas.history.errors import HistoryError
from barnabas.spark.errors import UserError
from barnabas.spark.options.source import SourceOptions
from barnabas.spark.source.failures import to_user_error
from barnabas.spark.source.fetch import FetchSettings, read_range
from barnabas.spark.source.history import FileRange
from barnabas.spark.source.ranges import OffsetRange
from barnabas.spark.source.worker_memory import settle

_IDLE_MAX = 4
"""Clusters that a worker may keep open: a worker reads one at a time, and few applications have more than two."""

_ROWS_MIN = 3000
_BYTES_MIN = 1 << 20
"""Either makes a batch large enough."""

_idle: dict[ClientSettings, Cluster] = {}


def read_ranges(
    ranges: Sequence[OffsetRange],
    options: SourceOptions,
    columns: tuple[str, ...],
    *,
    timestamp_ms: tuple[int | None, int | None] = (None, None),
) -> Iterator[Any]:
    if not ranges:
        return
    settle()
    read = _read(ranges, options, columns, timestamp_ms)
    yield from joined(read) if len(ranges) > 1 else read


def joined(batches: Iterable[Any]) -> Iterator[Any]:
    """Small batches put together: each costs Spark as much as some thousand rows."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = size_bytes = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size_bytes += batch.nbytes
        if rows >= _ROWS_MIN or size_bytes >= _BYTES_MIN:
            yield waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
            waiting, rows, size_bytes = [], 0, 0
    if waiting:
        yield waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)


def _read(
    ranges: Sequence[OffsetRange],
    options: SourceOptions,
    columns: tuple[str, ...],
    timestamp_ms: tuple[int | None, int | None],
) -> Iterator[Any]:
    try:
        fetch = FetchSettings.of(options.properties, poll_timeout_ms=options.poll_timeout_ms)
        typed = options.typed
        with _borrowed(options.client()) as cluster:
            for one in ranges:
                if isinstance(one, FileRange):
                    from barnabas.spark.source.typed import read_archived

                    yield from read_archived(one, columns, typed, timestamp_ms)
                    continue
                logged = read_range(
                    cluster,
                    one,
                    columns=_from_log(columns, typed),
                    isolation_level=options.isolation_level,
                    fetch=fetch,
                    fail_on_data_loss=options.fail_on_data_loss,
                    timestamp_ms=timestamp_ms,
                )
                if options.history is not None:
                    from barnabas.spark.source.typed import with_typed

                    yield from with_typed(logged, columns, typed, options.history.current[one.topic])
                else:
                    yield from logged
    except ClientError as failure:
        raise to_user_error(failure) from failure
    except HistoryError as failure:
        raise UserError(f"{failure.message}.", failure.hint) from failure


def _from_log(columns: tuple[str, ...], typed: Sequence[Column]) -> tuple[str, ...]:
    """Typed columns are decoded from the value."""
    own = tuple(name for name in columns if name in CONNECTOR_COLUMNS)
    return own if len(own) == len(columns) or "value" in own else (*own, "value")


def close_idle() -> None:
    """Close all connections. A worker need not: its sockets are closed when it ends."""
    while _idle:
        _idle.popitem()[1].close()


@contextmanager
def _borrowed(settings: ClientSettings) -> Iterator[Cluster]:
    """A cluster of this worker. One that failed, or has an unfinished response, is closed instead of reused."""
    cluster = _idle.pop(settings, None) or Cluster(settings)
    try:
        yield cluster
    except BaseException:
        cluster.close()
        raise
    while len(_idle) >= _IDLE_MAX:
        _idle.pop(next(iter(_idle))).close()
    _idle[settings] = cluster
