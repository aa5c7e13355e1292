"""The loop of a run: looks after its queries, tells how they are, and ends them when it is asked to."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from barnabas.pipeline import status as statuses
from barnabas.pipeline import stop
from barnabas.pipeline.driver.backlog import Backlog
from barnabas.pipeline.driver.listening import Listening
from barnabas.pipeline.driver.query import FlowQuery
from barnabas.pipeline.driver.signals import StopSignals
from barnabas.pipeline.status import State, Status

LOOK_S: Final = 0.2
TELL_S: Final = 1.0
"""Well within what readers of the status expect (`status.REFRESH_S`)."""
_LAST_WORDS_S: Final = 5.0


class Driver:
    def __init__(
        self,
        project: str,
        version: str,
        state_folder: Path,
        queries: Sequence[FlowQuery],
        *,
        listening: Listening,
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
        self._listening = listening
        self._backlogs = backlogs
        self._signals = signals
        self._show = show
        self._should_stop = should_stop
        self._clock = clock
        self._sleep = sleep
        self._by_run: dict[str, FlowQuery] = {}
        self._started_at = clock()
        self._told_at = 0.0
        self._stops = 0
        """0: keep running; 1: stop after the current batches; 2: stop now."""

    def run(self) -> None:
        """Until all queries are over."""
        self._start()
        while not all(query.is_over() for query in self._queries):
            self._sleep(LOOK_S)
            self._hear()
            now = self._clock()
            for query in self._queries:
                before = query.state
                if (run_id := query.ended_run()) is not None:
                    self._listening.wait_for_ends({run_id}, _LAST_WORDS_S)
                    self._hear()
                query.look(now)
                self._note(query)
                if query.state is not before:
                    self._told_at = 0.0
            if now - self._told_at >= TELL_S and not all(query.is_over() for query in self._queries):
                self._obey(self._tell())
            else:
                self._obey(None)

    def tell_last(self) -> Status:
        """When nobody measures any more."""
        self._hear()
        return self._tell()

    def _start(self) -> None:
        """All of them, or none: a query that Spark refuses ends those that have begun."""
        try:
            for query in self._queries:
                query.start()
                self._note(query)
                self._tell()
        except BaseException:
            for query in self._queries:
                query.abandon()
            self._tell()
            raise

    def _note(self, query: FlowQuery) -> None:
        if query.query is not None:
            self._by_run[str(query.query.runId)] = query

    def _hear(self) -> None:
        for batch in self._listening.batches():
            query = self._by_run.get(batch["runId"])
            if query is not None:
                query.progress.add(batch, self._clock())

    def _tell(self) -> Status:
        self._told_at = self._clock()
        backlogs = self._backlogs()
        told = statuses.of_this_process(
            self._project,
            self._version,
            self._started_at,
            [each.status(backlogs.get(each.name)) for each in self._queries],
        )
        statuses.write(self._state_folder, told)
        self._show(told)
        return told

    def _obey(self, last: Status | None) -> None:
        wanted = min(self._signals.count, 2)
        if wanted == 0 and (stop.requested(self._state_folder) or (last is not None and self._should_stop(last))):
            wanted = 1
        if wanted > self._stops:
            self._stops = wanted
            for query in self._queries:
                query.begin_stop(gently=wanted == 1)


def ended_well(status: Status) -> bool:
    return all(flow.state in (State.FINISHED, State.STOPPED) for flow in status.flows)
