"""The thread that watches queries: it receives their batches, commits their offsets, measures their lag.

Spark's listener calls come on Spark's own thread and must not wait for a broker, so they only queue a note here. Notes
about one run are handled together: only its newest batch matters.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from barnabas.spark.query.progress import BatchProgress
from barnabas.spark.query.source_watch import SourceWatch
from barnabas.spark.query.views import FAILED, RUNNING, STOPPED, QueryView

_log = logging.getLogger("barnabas.spark")

MEASURE_PAUSE_S = 1.0
"""The minimum time between two measurements of a query, however fast its triggers are."""
ENDED_KEPT_MAX = 50
"""Ended queries are shown with the reason; the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class Started:
    query_id: str
    run_id: str
    name: str | None
    sources: Sequence[tuple[int, SourceWatch]]
    """Ours, each with its index in the query's progress."""


@dataclass(frozen=True, slots=True)
class Ended:
    run_id: str
    error: str | None


@dataclass(slots=True, eq=False)
class _Run:
    started: Started
    state: str = RUNNING
    error: str | None = None
    last: BatchProgress | None = None
    rows_total: int = 0
    measured_s: float | None = None
    moved: bool = True
    """Since the last measurement."""


class Watcher:
    def __init__(
        self,
        *,
        refresh_s: float,
        publish: Callable[[list[QueryView]], None] = lambda views: None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._refresh_s = refresh_s
        self._publish = publish
        self._clock = clock
        self._wall_clock = wall_clock
        self._notes: queue.SimpleQueue[Started | BatchProgress | Ended | None] = queue.SimpleQueue()
        self._runs: dict[str, _Run] = {}
        self._views: list[QueryView] = []
        self._thread: threading.Thread | None = None

    def note(self, note: Started | BatchProgress | Ended) -> None:
        """From any thread; returns at once."""
        self._notes.put(note)

    def views(self) -> list[QueryView]:
        """From any thread: the last measurements."""
        return self._views

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="barnabas-query-watcher", daemon=True)
        self._thread.start()

    def close(self, timeout_s: float) -> bool:
        """Handle the queued notes, then end; returns whether that was done in time."""
        if self._thread is None:
            self._release()
            return True
        self._notes.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def step(self, notes: Iterable[Started | BatchProgress | Ended]) -> None:
        """One round: handle the notes, commit, measure what is due, publish."""
        finished: dict[str, BatchProgress] = {}
        ended: list[_Run] = []
        for note in notes:
            if isinstance(note, Started):
                self._runs[note.run_id] = _Run(note)
            elif isinstance(note, Ended):
                ended += self._end(note)
            elif note.run_id in self._runs and self._is_new(note, finished.get(note.run_id)):
                self._runs[note.run_id].rows_total += note.input_rows
                finished[note.run_id] = note
        for run_id, progress in finished.items():
            self._finish(self._runs[run_id], progress)
        for run in self._runs.values():
            if run in ended or (run.state == RUNNING and self._is_due(run)):
                self._measure(run)
        for run in ended:
            for _, source in run.started.sources:
                source.close()
        self._forget_old_runs()
        # The last batch of a run may be reported after the next run of the query has begun; then the next run is shown.
        self._views = list({run.started.query_id: _view(run) for run in self._runs.values()}.values())
        self._publish(self._views)

    def _is_new(self, progress: BatchProgress, newest: BatchProgress | None) -> bool:
        """A batch may be reported twice: by Spark, and when we asked for the last progress."""
        known = newest or self._runs[progress.run_id].last
        return known is None or progress.finished_ms > known.finished_ms

    def _end(self, ended: Ended) -> list[_Run]:
        run = self._runs.get(ended.run_id)
        if run is None or run.state != RUNNING:
            return []
        run.state = STOPPED if ended.error is None else FAILED
        run.error = ended.error
        return [run]

    def _finish(self, run: _Run, progress: BatchProgress) -> None:
        run.last = progress
        run.moved = True
        for index, source in run.started.sources:
            if index < len(progress.sources):
                source.finished(progress.sources[index].end, self._clock())

    def _is_due(self, run: _Run) -> bool:
        if run.measured_s is None:
            return True
        return self._clock() - run.measured_s >= (MEASURE_PAUSE_S if run.moved else self._refresh_s)

    def _measure(self, run: _Run) -> None:
        run.measured_s = self._clock()
        run.moved = False
        for _, source in run.started.sources:
            source.measure(self._clock(), round(self._wall_clock() * 1000))

    def _forget_old_runs(self) -> None:
        newest = {run.started.query_id: run_id for run_id, run in self._runs.items()}
        over = [run_id for run_id, run in self._runs.items() if run.state != RUNNING]
        replaced = [run_id for run_id in over if newest[self._runs[run_id].started.query_id] != run_id]
        kept = [run_id for run_id in over if run_id not in replaced]
        for run_id in [*replaced, *kept[: max(0, len(kept) - ENDED_KEPT_MAX)]]:
            del self._runs[run_id]

    def _pause_s(self) -> float:
        moved = any(run.moved and run.state == RUNNING for run in self._runs.values())
        return MEASURE_PAUSE_S if moved else self._refresh_s

    def _work(self) -> None:
        closing = False
        while not closing:
            notes = []
            try:
                note = self._notes.get(timeout=self._pause_s())
                while True:
                    closing = closing or note is None
                    if note is not None:
                        notes.append(note)
                    note = self._notes.get_nowait()
            except queue.Empty:
                pass
            try:
                self.step(notes)
            except Exception:
                _log.exception("Watching queries failed; it continues with the next batch. Please report this.")
        self._release()

    def _release(self) -> None:
        for run in self._runs.values():
            for _, source in run.started.sources:
                source.close()


def _view(run: _Run) -> QueryView:
    last = run.last
    return QueryView(
        query_id=run.started.query_id,
        run_id=run.started.run_id,
        name=run.started.name,
        state=run.state,
        error=run.error,
        batch_id=None if last is None else last.batch_id,
        batch_duration_ms=None if last is None else last.batch_duration_ms,
        finished_ms=None if last is None else last.finished_ms,
        rows_total=run.rows_total,
        commits_failed=sum(source.commits_failed for _, source in run.started.sources),
        sources=tuple(source.view() for _, source in run.started.sources),
    )
