"""The main loop of a run: checks its queries, reports their status, and stops them on request."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from barnabas.pipeline import status as statuses
from barnabas.pipeline import stop
from barnabas.pipeline.driver.backlog import Backlog
from barnabas.pipeline.driver.batch_listener import BatchListener
from barnabas.pipeline.driver.query import FlowQuery
from barnabas.pipeline.driver.signals import StopSignals
from barnabas.pipeline.status import State, Status

CHECK_EVERY_S: Final = 0.2
REPORT_EVERY_S: Final = 1.0
"""Well within what readers of the status expect (`status.REFRESH_S`)."""
_FINAL_PROGRESS_WITHIN_S: Final = 5.0


class Driver:
    def __init__(
        self,
        project: str,
        version: str,
        state_folder: Path,
        queries: Sequence[FlowQuery],
        *,
        listener: BatchListener,
        backlogs: Callable[[], Mapping[str, Backlog]],
        signals: StopSignals,
        show: Callable[[Status], None],
        should_stop: Callable[[Status], bool],
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._project = project
        self._version = version
        self._state_folder = state_folder
        self._queries = queries
        self._listener = listener
        self._backlogs = backlogs
        self._signals = signals
        self._show = show
        self._should_stop = should_stop
        self._clock = clock
        self._sleep = sleep
        self._by_run: dict[str, FlowQuery] = {}
        self._started_at = clock()
        self._reported_at = 0.0
        self._stops = 0
        """0: keep running; 1: stop after the current batches; 2: stop now."""

    def run(self) -> None:
        """Returns when all queries have ended."""
        self._start()
        while not all(query.has_ended() for query in self._queries):
            self._sleep(CHECK_EVERY_S)
            self._take_progress()
            now = self._clock()
            for query in self._queries:
                before = query.state
                if (run_id := query.ended_run()) is not None:
                    self._listener.wait_until_ended({run_id}, _FINAL_PROGRESS_WITHIN_S)
                    self._take_progress()
                query.check(now)
                self._remember_run(query)
                if query.state is not before:
                    self._reported_at = 0.0
            if now - self._reported_at >= REPORT_EVERY_S and not all(query.has_ended() for query in self._queries):
                self._apply_stop_requests(self._report())
            else:
                self._apply_stop_requests(None)

    def report_final(self) -> Status:
        """The last status, after the queries have ended and their lag is no longer measured."""
        self._take_progress()
        return self._report()

    def _start(self) -> None:
        """All of them, or none: if Spark refuses one, those already started are stopped."""
        try:
            for query in self._queries:
                query.start()
                self._remember_run(query)
                self._report()
        except BaseException:
            for query in self._queries:
                query.abandon()
            self._report()
            raise

    def _remember_run(self, query: FlowQuery) -> None:
        if query.query is not None:
            self._by_run[str(query.query.runId)] = query

    def _take_progress(self) -> None:
        for batch in self._listener.batches():
            query = self._by_run.get(batch["runId"])
            if query is not None:
                query.progress.add(batch, self._clock())

    def _report(self) -> Status:
        self._reported_at = self._clock()
        backlogs = self._backlogs()
        status = statuses.of_this_process(
            self._project,
            self._version,
            self._started_at,
            [each.status(backlogs.get(each.name)) for each in self._queries],
        )
        statuses.write(self._state_folder, status)
        self._show(status)
        return status

    def _apply_stop_requests(self, last: Status | None) -> None:
        wanted = min(self._signals.count, 2)
        if wanted == 0 and (stop.requested(self._state_folder) or (last is not None and self._should_stop(last))):
            wanted = 1
        if wanted > self._stops:
            self._stops = wanted
            for query in self._queries:
                query.request_stop(after_batch=wanted == 1)


def ended_well(status: Status) -> bool:
    return all(flow.state in (State.FINISHED, State.STOPPED) for flow in status.flows)
