"""One streaming query from its first start to its end: restarted when that may help, stopped after a batch."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from barnabas.pipeline.driver.backlog import Backlog
from barnabas.pipeline.driver.failures import Failure
from barnabas.pipeline.driver.progress import RunProgress
from barnabas.pipeline.driver.sinks import Start
from barnabas.pipeline.status import FlowStatus, State
from barnabas.spark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

FIRST_RESTART_PAUSE_S: Final = 2.0
LONGEST_RESTART_PAUSE_S: Final = 60.0
FAILURES_IN_A_ROW_MAX: Final = 3
"""Without a finished batch in between. Applies to unknown failures, and to all failures in a run with an end."""
_STALE_RATES_S: Final = 10.0
_CHECK_EVERY_S: Final = 0.02
_INITIALIZING: Final = "Initializing sources"
"""Spark's status message for a query without sources yet."""
_SOURCES_WITHIN_S: Final = 15.0
_FETCHING_OFFSETS: Final = "Getting offsets from"

_log = logging.getLogger(__name__)


@dataclass
class FlowQuery:
    name: str
    start_query: Start
    classify: Callable[[BaseException], Failure]
    once: bool
    """Whether the query ends when it has read everything."""
    say: Callable[[str], None]
    silence_logs: Callable[[], None] = lambda: None
    """Called before the query is stopped: the JVM logs long traces about the interruption."""
    state: State = State.STARTING
    progress: RunProgress = field(default_factory=RunProgress)
    error: UserError | None = None
    restart_count: int = 0
    query: "StreamingQuery | None" = None
    changed_at: float = field(default_factory=time.time)
    _failures: int = 0
    _batch_at_failure: int | None = None
    _restart_at: float | None = None
    _stopper: threading.Thread | None = None

    def start(self) -> None:
        """Raises Spark's error if the query cannot be started.

        Waits until its sources are initialized: each starts a Python process, which has ten seconds for that, and
        several at once take longer.
        """
        self.query = self.start_query()
        self._restart_at = None
        self._set_state(State.RUNNING)
        deadline = time.monotonic() + _SOURCES_WITHIN_S
        while time.monotonic() < deadline and self.query.isActive:
            if self.query.status["message"] != _INITIALIZING:
                break
            time.sleep(_CHECK_EVERY_S)

    def check(self, now: float) -> None:
        """Update the state, and restart the query when its pause is over."""
        if self._restart_at is not None:
            if now >= self._restart_at:
                self._restart()
        elif self.query is not None and self.state in (State.RUNNING, State.WAITING):
            if self.query.isActive:
                self._update_activity(now)
            else:
                self._ended(now)

    def ended_run(self) -> str | None:
        """The run id of a query that ended since the last `check`."""
        if self.query is None or self.state not in (State.RUNNING, State.WAITING) or self.query.isActive:
            return None
        return str(self.query.runId)

    def has_ended(self) -> bool:
        return self.state in (State.FINISHED, State.STOPPED, State.FAILED) and self._restart_at is None

    def request_stop(self, *, after_batch: bool) -> None:
        """Returns at once; call `check` until `has_ended`. Without `after_batch` it stops in the middle of a batch."""
        if self._restart_at is not None:
            self._restart_at = None
            self._set_state(State.FAILED)
            return
        if self.query is None or self.has_ended():
            return
        target = self._stop_after_batch if after_batch else self._stop_at_once
        if self._stopper is None or not after_batch:
            self._stopper = threading.Thread(target=target, args=(self.query,), name=f"stop {self.name}", daemon=True)
            self._stopper.start()

    def abandon(self) -> None:
        """Stop at once and wait: the run could not start."""
        if self.query is not None:
            self._stop_at_once(self.query)
        self._set_state(State.STOPPED)

    def status(self, backlog: Backlog | None) -> FlowStatus:
        progress, counts = self.progress, self.progress.total()
        unreachable = None
        if backlog is not None and self.state in (State.RUNNING, State.WAITING):
            unreachable = backlog.unreachable
        return FlowStatus(
            name=self.name,
            state=State.BLOCKED if unreachable else self.state,
            updated_at=progress.finished_at or self.changed_at,
            batch_id=progress.batch_id,
            input_rows_per_s=progress.input_rows_per_s,
            output_rows_per_s=progress.output_rows_per_s,
            input_rows=progress.input_rows,
            output_rows=progress.output_rows,
            lag=None if backlog is None or backlog.unreachable else backlog.lag,
            watermark=progress.watermark,
            state_rows=progress.state_rows,
            state_bytes=progress.state_bytes,
            late_rows=counts.late,
            dead_rows=counts.dead,
            dropped_rows=counts.dropped,
            behind_watermark=progress.behind_watermark,
            broken_rules=progress.broken_rules(),
            restarts=self.restart_count,
            last_error=unreachable or (None if self.error is None else str(self.error)),
        )

    def _update_activity(self, now: float) -> None:
        assert self.query is not None
        status = self.query.status
        works = bool(status["isTriggerActive"]) and bool(status["isDataAvailable"])
        if works != (self.state is State.RUNNING):
            self._set_state(State.RUNNING if works else State.WAITING)
        if not works and self.progress.finished_at is not None and now - self.progress.finished_at > _STALE_RATES_S:
            self.progress.clear_rates()

    def _ended(self, now: float) -> None:
        assert self.query is not None
        error: BaseException | None = self.query.exception()
        if self._stopper is not None:
            self._set_state(State.STOPPED)  # it may report an interruption, which was intended
        elif error is None and self.once:
            self._set_state(State.FINISHED)
        else:
            self._failed(error or RuntimeError("the query ended without a request and without an error"), now)

    def _failed(self, error: BaseException, now: float) -> None:
        failure = self.classify(error)
        self.error = failure.reason
        if self.progress.batch_id != self._batch_at_failure:
            self._failures = 0
        self._batch_at_failure = self.progress.batch_id
        self._failures += 1
        if self._stopper is None and self._should_restart(failure):
            pause_s = min(FIRST_RESTART_PAUSE_S * 2 ** (self._failures - 1), LONGEST_RESTART_PAUSE_S)
            self._restart_at = now + pause_s
            self._set_state(State.RETRYING)
            self.say(f"{self.name} failed and will be restarted in {pause_s:g} s: {failure.reason}")
        else:
            self._set_state(State.FAILED)
            self.say(f"{self.name} failed and stays stopped until the next run: {failure.reason}")

    def _should_restart(self, failure: Failure) -> bool:
        if failure.is_transient:
            return not self.once or self._failures <= FAILURES_IN_A_ROW_MAX
        return not failure.is_permanent and not self.once and self._failures <= FAILURES_IN_A_ROW_MAX

    def _restart(self) -> None:
        self.restart_count += 1
        try:
            self.start()
        except (PySparkException, Py4JError, UserError) as error:
            self._restart_at = None
            self._failed(error, time.time())
        else:
            self.say(f"{self.name} is running again")

    def _set_state(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self.changed_at = time.time()

    def _stop_after_batch(self, query: "StreamingQuery") -> None:
        """When the current batch is done: then the next start repeats little or nothing.

        Spark can only stop at once. Between two batches that is the same; if the next batch has just begun, it is
        repeated at the next start.
        """
        seen = _last_batch(query)
        while query.isActive and _last_batch(query) == seen:
            status = query.status
            if not status["isTriggerActive"] or status["message"].startswith(_FETCHING_OFFSETS):
                break
            time.sleep(_CHECK_EVERY_S)
        self._stop_at_once(query)

    def _stop_at_once(self, query: "StreamingQuery") -> None:
        self.silence_logs()
        try:
            query.stop()
        except (PySparkException, Py4JError, ConnectionError) as error:
            _log.warning("%s cannot be stopped: %s", self.name, str(error).partition("\n")[0])


def _last_batch(query: "StreamingQuery") -> int | None:
    """The id of the last finished batch, as the query knows it; the listener gets it a little later."""
    progress = query.lastProgress
    return None if progress is None else int(progress["batchId"])
