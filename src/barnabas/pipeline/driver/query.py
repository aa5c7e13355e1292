"""One streaming query from its first start to its end: it is started again when that may help, and stopped gently."""

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

FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 60.0
FAILURES_IN_A_ROW_MAX: Final = 3
"""Without a finished batch between them; of those that nobody can say to be passing, and in a run that shall end."""
_STALE_RATES_S: Final = 10.0
_LOOK_AGAIN_S: Final = 0.02
_INITIALIZING: Final = "Initializing sources"
"""What Spark says of a query that has none yet."""
_SOURCES_WITHIN_S: Final = 15.0
_LOOKS_FOR_WORK: Final = "Getting offsets from"

_log = logging.getLogger(__name__)


@dataclass
class FlowQuery:
    name: str
    start_query: Start
    judge: Callable[[BaseException], Failure]
    once: bool
    """Whether it ends by itself."""
    say: Callable[[str], None]
    hush: Callable[[], None] = lambda: None
    """Called before it is stopped: Java complains at length about being interrupted, which is what was wanted."""
    state: State = State.STARTING
    progress: RunProgress = field(default_factory=RunProgress)
    error: UserError | None = None
    restart_count: int = 0
    query: "StreamingQuery | None" = None
    changed_at: float = field(default_factory=time.time)
    _failures: int = 0
    _batch_at_failure: int | None = None
    _start_again_at: float | None = None
    _stopper: threading.Thread | None = None

    def start(self) -> None:
        """Raises what Spark says of a query that cannot be started at all.

        Waits until it has its sources: each of them starts a Python of its own, which Spark gives ten seconds for that;
        several at once take several times as long.
        """
        self.query = self.start_query()
        self._start_again_at = None
        self._become(State.RUNNING)
        deadline = time.monotonic() + _SOURCES_WITHIN_S
        while time.monotonic() < deadline and self.query.isActive:
            if self.query.status["message"] != _INITIALIZING:
                break
            time.sleep(_LOOK_AGAIN_S)

    def look(self, now: float) -> None:
        """How it is; start it again if its time has come."""
        if self._start_again_at is not None:
            if now >= self._start_again_at:
                self._start_again()
        elif self.query is not None and self.state in (State.RUNNING, State.WAITING):
            if self.query.isActive:
                self._see_whether_it_works(now)
            else:
                self._ended(now)

    def ended_run(self) -> str | None:
        """Of a query that has ended, which `look` has not seen yet."""
        if self.query is None or self.state not in (State.RUNNING, State.WAITING) or self.query.isActive:
            return None
        return str(self.query.runId)

    def is_over(self) -> bool:
        return self.state in (State.FINISHED, State.STOPPED, State.FAILED) and self._start_again_at is None

    def begin_stop(self, *, gently: bool) -> None:
        """Returns at once; `look` until `is_over`. Called again without `gently`, it ends in the middle of a batch."""
        if self._start_again_at is not None:
            self._start_again_at = None
            self._become(State.FAILED)
            return
        if self.query is None or self.is_over():
            return
        target = self._stop_after_batch if gently else self._stop_now
        if self._stopper is None or not gently:
            self._stopper = threading.Thread(target=target, args=(self.query,), name=f"stop {self.name}", daemon=True)
            self._stopper.start()

    def abandon(self) -> None:
        """At once, and wait for it: the run does not come about."""
        if self.query is not None:
            self._stop_now(self.query)
        self._become(State.STOPPED)

    def status(self, backlog: Backlog | None) -> FlowStatus:
        told, counts = self.progress, self.progress.total()
        unreachable = None
        if backlog is not None and self.state in (State.RUNNING, State.WAITING):
            unreachable = backlog.unreachable
        return FlowStatus(
            name=self.name,
            state=State.BLOCKED if unreachable else self.state,
            updated_at=told.finished_at or self.changed_at,
            batch_id=told.batch_id,
            input_rows_per_s=told.input_rows_per_s,
            output_rows_per_s=told.output_rows_per_s,
            input_rows=told.input_rows,
            output_rows=told.output_rows,
            lag=None if backlog is None or backlog.unreachable else backlog.lag,
            watermark=told.watermark,
            state_rows=told.state_rows,
            state_bytes=told.state_bytes,
            late_rows=counts.late,
            dead_rows=counts.dead,
            dropped_rows=counts.dropped,
            behind_watermark=told.behind_watermark,
            broken_rules=told.broken_rules(),
            restarts=self.restart_count,
            last_error=unreachable or (None if self.error is None else str(self.error)),
        )

    def _see_whether_it_works(self, now: float) -> None:
        assert self.query is not None
        told = self.query.status
        works = bool(told["isTriggerActive"]) and bool(told["isDataAvailable"])
        if works != (self.state is State.RUNNING):
            self._become(State.RUNNING if works else State.WAITING)
        if not works and self.progress.finished_at is not None and now - self.progress.finished_at > _STALE_RATES_S:
            self.progress.rest()

    def _ended(self, now: float) -> None:
        assert self.query is not None
        error: BaseException | None = self.query.exception()
        if self._stopper is not None:
            self._become(State.STOPPED)  # it may say that it was interrupted, which is what was wanted
        elif error is None and self.once:
            self._become(State.FINISHED)
        else:
            self._failed(error or RuntimeError("the query has ended without being asked to, and does not say why"), now)

    def _failed(self, error: BaseException, now: float) -> None:
        failure = self.judge(error)
        self.error = failure.reason
        if self.progress.batch_id != self._batch_at_failure:
            self._failures = 0
        self._batch_at_failure = self.progress.batch_id
        self._failures += 1
        if self._stopper is None and self._may_help_to_start_again(failure):
            pause_s = min(FIRST_PAUSE_S * 2 ** (self._failures - 1), LONGEST_PAUSE_S)
            self._start_again_at = now + pause_s
            self._become(State.RETRYING)
            self.say(f"{self.name} failed, and is started again in {pause_s:g} s: {failure.reason}")
        else:
            self._become(State.FAILED)
            self.say(f"{self.name} failed, and stays so until the next run: {failure.reason}")

    def _may_help_to_start_again(self, failure: Failure) -> bool:
        if failure.is_passing:
            return not self.once or self._failures <= FAILURES_IN_A_ROW_MAX
        return not failure.is_known and not self.once and self._failures <= FAILURES_IN_A_ROW_MAX

    def _start_again(self) -> None:
        self.restart_count += 1
        try:
            self.start()
        except (PySparkException, Py4JError, UserError) as error:
            self._start_again_at = None
            self._failed(error, time.time())
        else:
            self.say(f"{self.name} runs again")

    def _become(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self.changed_at = time.time()

    def _stop_after_batch(self, query: "StreamingQuery") -> None:
        """When the batch at hand is done: then the next start has little or nothing to repeat.

        Spark itself only knows how to stop at once. In the moment between two batches, that is the same; if the next
        one has just begun, it is begun again at the next start.
        """
        seen = _last_batch(query)
        while query.isActive and _last_batch(query) == seen:
            told = query.status
            if not told["isTriggerActive"] or told["message"].startswith(_LOOKS_FOR_WORK):
                break
            time.sleep(_LOOK_AGAIN_S)
        self._stop_now(query)

    def _stop_now(self, query: "StreamingQuery") -> None:
        self.hush()
        try:
            query.stop()
        except (PySparkException, Py4JError, ConnectionError) as error:
            _log.warning("%s cannot be stopped: %s", self.name, str(error).partition("\n")[0])


def _last_batch(query: "StreamingQuery") -> int | None:
    """The last that is finished, as the query itself knows it; it is told of a little later."""
    told = query.lastProgress
    return None if told is None else int(told["batchId"])
