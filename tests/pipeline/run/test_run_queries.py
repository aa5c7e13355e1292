"""How a query is restarted, stopped and reported; a small fake stands in for Spark's query."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from run_world import YAML, project

from barnabas.pipeline.driver.backlog import Backlog
from barnabas.pipeline.driver.failures import classify, shortened
from barnabas.pipeline.driver.progress import RunProgress
from barnabas.pipeline.driver.query import FAILURES_IN_A_ROW_MAX, FIRST_RESTART_PAUSE_S, FlowQuery
from barnabas.pipeline.driver.reading import stream_options
from barnabas.pipeline.project.model import Start
from barnabas.pipeline.status import State

AWAY = "...\nbarnabas.client.errors.CannotConnect: cannot reach localhost:9092; is the broker running?\n"
BROKEN_RULE = "...\nbarnabas.spark.errors.UserError: the rule `paid` is broken\nhint: look at the record\n"
ODD = "java.lang.IllegalStateException: odd"


@dataclass
class PlayedQuery:
    runId: str = "run"  # noqa: N815 # Spark's name
    isActive: bool = True  # noqa: N815
    error: str | None = None
    works: bool = True
    lastProgress: dict[str, Any] | None = None  # noqa: N815
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def status(self) -> dict[str, Any]:
        return {"message": "Processing new data", "isTriggerActive": self.works, "isDataAvailable": self.works}

    def exception(self) -> StreamingQueryException | None:
        return None if self.error is None else StreamingQueryException(self.error)

    def stop(self) -> None:
        self.isActive = False
        self.stopped.set()

    def fail(self, error: str) -> None:
        self.isActive, self.error = False, error


@dataclass
class Stage:
    query: FlowQuery
    played: list[PlayedQuery]
    said: list[str]

    @property
    def now_played(self) -> PlayedQuery:
        return self.played[-1]


@pytest.fixture
def stage(tmp_path: Path) -> Callable[..., Stage]:
    found = project(tmp_path, "127.0.0.1:1")

    def make(*, once: bool = False) -> Stage:
        played: list[PlayedQuery] = []
        said: list[str] = []

        def start() -> Any:
            played.append(PlayedQuery(f"run {len(played)}"))
            return played[-1]

        query = FlowQuery("large", start, partial(classify, project=found, query="large"), once, said.append)
        query.start()
        return Stage(query, played, said)

    return make


def test_while_the_broker_is_away_it_is_started_again_and_again(stage: Callable[..., Stage]) -> None:
    found, now = stage(), 1000.0
    for times in range(8):
        found.now_played.fail(AWAY)
        found.query.check(now)
        assert found.query.state is State.RETRYING, "a failure that passes is not the end"
        assert not found.query.has_ended()
        found.query.check(now + min(FIRST_RESTART_PAUSE_S * 2**times, 60) - 0.1)
        assert len(found.played) == times + 1
        now += 60
        found.query.check(now)
        assert len(found.played) == times + 2
    status = found.query.status(None)
    assert (status.state, status.restarts) == (State.RUNNING, 8)
    assert "cannot reach localhost:9092" in str(status.last_error)


def test_a_broker_that_does_not_answer_blocks_it(stage: Callable[..., Stage]) -> None:
    """Spark retries for a minute, and reports meanwhile that it waits for data."""
    found = stage()
    found.now_played.works = False
    found.query.check(0)
    assert found.query.status(Backlog(lag=5, unreachable=None)).state is State.WAITING
    blocked = found.query.status(Backlog(lag=5, unreachable="cannot reach localhost:9092"))
    assert (blocked.state, blocked.lag, blocked.last_error) == (State.BLOCKED, None, "cannot reach localhost:9092")
    found.now_played.fail(BROKEN_RULE)
    found.query.check(1)
    assert found.query.status(Backlog(lag=5, unreachable="cannot reach localhost:9092")).state is State.FAILED


def test_a_mistake_stays(stage: Callable[..., Stage]) -> None:
    found = stage()
    found.now_played.fail(BROKEN_RULE)
    found.query.check(0)
    assert found.query.state is State.FAILED
    assert found.query.has_ended()
    assert found.said == [
        "large failed and stays stopped until the next run: the rule `paid` is broken\nhint: look at the record"
    ]


@pytest.mark.parametrize(("error", "once"), [(ODD, False), (AWAY, True)])
def test_what_nobody_can_judge_is_tried_a_few_times(stage: Callable[..., Stage], error: str, once: bool) -> None:
    found, now = stage(once=once), 0.0
    while not found.query.has_ended():
        found.now_played.fail(error)
        found.query.check(now)
        now += 100
        found.query.check(now)
    assert len(found.played) == 1 + FAILURES_IN_A_ROW_MAX


def test_an_end_that_nobody_asked_for_is_a_failure(stage: Callable[..., Stage]) -> None:
    running, ending = stage(), stage(once=True)
    for found in (running, ending):
        found.now_played.isActive = False
        found.query.check(0)
    assert running.query.state is State.RETRYING
    assert "without an error" in running.said[0]
    assert ending.query.state is State.FINISHED


@pytest.mark.parametrize(
    ("error", "passing", "known"), [(AWAY, True, False), (BROKEN_RULE, False, True), (ODD, False, False)]
)
def test_failures_of_a_batch_that_is_written_by_a_function_stay_short(
    tmp_path: Path, error: str, passing: bool, known: bool
) -> None:
    """Spark's regular expression overflows the stack on long texts; they are still classified."""
    found = project(tmp_path, "127.0.0.1:1")
    long = StreamingQueryException(error + "\n\tat org.apache.spark.Some.where(Some.scala:1)" * 2000)
    short = shortened(long, found, "large")
    text = (
        f"Traceback (most recent call last):\n  File ...\n{type(short).__module__}.{type(short).__qualname__}: {short}"
    )
    assert len(text) < 2000
    failure = classify(StreamingQueryException(text), found, "large")
    assert (failure.is_transient, failure.is_permanent) == (passing, known)
    assert failure.reason.message == short.message


def test_batches_between_failures_count(stage: Callable[..., Stage]) -> None:
    found, now = stage(), 0.0
    for batch in range(10):
        found.query.progress.batch_id = batch
        found.now_played.fail(ODD)
        found.query.check(now)
        now += 100
        found.query.check(now)
    assert found.query.state is State.RUNNING


def test_it_stops_when_its_batch_is_done(stage: Callable[..., Stage]) -> None:
    found = stage()
    found.query.request_stop(after_batch=True)
    assert not found.now_played.stopped.wait(0.2), "it is in the middle of a batch"
    found.now_played.lastProgress = {"batchId": 0}
    assert found.now_played.stopped.wait(10)
    found.query.check(0)
    assert found.query.state is State.STOPPED
    assert found.query.has_ended()


def test_it_stops_in_the_middle_if_one_insists(stage: Callable[..., Stage]) -> None:
    found = stage()
    found.query.request_stop(after_batch=True)
    found.query.request_stop(after_batch=False)
    assert found.now_played.stopped.wait(10)
    found.query.check(0)
    assert found.query.has_ended()


def test_one_that_waits_to_be_started_again_is_failed_when_stopped(stage: Callable[..., Stage]) -> None:
    found = stage()
    found.now_played.fail(AWAY)
    found.query.check(0)
    found.query.request_stop(after_batch=True)
    assert found.query.state is State.FAILED
    assert found.query.has_ended()


def test_it_rests_without_rows(stage: Callable[..., Stage]) -> None:
    found = stage()
    found.query.progress.add({"batchId": 1, "inputRowsPerSecond": 5.0}, now=0.0)
    found.now_played.works = False
    found.query.check(5.0)
    assert (found.query.state, found.query.progress.input_rows_per_s) == (State.WAITING, 5.0)
    found.query.check(20.0)
    assert found.query.progress.input_rows_per_s == 0.0


def test_what_spark_tells_is_added_up() -> None:
    def progress_of(batch: int, late: int) -> dict[str, Any]:
        operator = {"numRowsTotal": 7, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 2}
        return {
            "batchId": batch,
            "numInputRows": 10,
            "inputRowsPerSecond": 3.5,
            "batchDuration": 500,
            "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
            "stateOperators": [operator, operator],
            "sink": {"numOutputRows": 4},
            "observedMetrics": {
                "orders": {"rows": 10, "misfits": 1, "dead": 2, "dropped": 0, "late": late, "rule_paid": 1},
                "large": {"rows": 3, "rule_known": 0},
            },
        }

    progress = RunProgress()
    progress.add(progress_of(0, late=1), now=1.0)
    progress.add(progress_of(1, late=2), now=2.0)
    total = progress.total()
    assert (progress.batch_id, progress.input_rows, progress.output_rows) == (1, 20, 8)
    assert (progress.input_rows_per_s, progress.output_rows_per_s) == (3.5, 8.0)
    assert (progress.state_rows, progress.state_bytes, progress.behind_watermark) == (14, 200, 8)
    assert (total.late, total.dead) == (3, 4)
    assert progress.broken_rules() == {"orders.paid": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] ...", "written by a different query"),
        (
            "There are [2] sources in the checkpoint offsets and now there are [1] sources",
            "written by a different query",
        ),
        ("[CONCURRENT_STREAM_LOG_UPDATE] ...", "another Spark writes"),
        ("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] ...", "is damaged"),
        ("java.lang.OutOfMemoryError: Java heap space", "too little memory"),
    ],
)
def test_checkpoints_and_memory_in_words(tmp_path: Path, text: str, words: str) -> None:
    failure = classify(StreamingQueryException(text), project(tmp_path, "127.0.0.1:1"), "large")
    assert words in failure.reason.message
    assert not failure.is_transient
    assert failure.is_permanent


def test_where_and_how_much_a_flow_reads(tmp_path: Path) -> None:
    watermark = '    watermark: {{column: at, delay: 1 minute}}\n    schema: "id STRING, at TIMESTAMP, amount DOUBLE"\n'
    yaml = YAML.replace('    schema: "id STRING, amount DOUBLE"\n', watermark)
    timed = project(tmp_path, "127.0.0.1:1", yaml)
    options = stream_options(timed, timed.sources["orders"], "g", Start.LATEST)
    assert options["startingOffsets"] == "latest"
    assert options["kafka.group.id"] == "g"
    assert {"maxTimePerTrigger", "maxOffsetsPerTrigger"} <= options.keys()
    assert stream_options(timed, timed.sources["orders"], "g", 17)["startingTimestamp"] == "17"
    own = project(
        tmp_path, "127.0.0.1:1", YAML.replace("    format:", "    options: {{maxoffsetsPerTrigger: 5}}\n    format:")
    )
    options = stream_options(own, own.sources["orders"], "g", Start.EARLIEST)
    assert {name.lower(): value for name, value in options.items()}["maxoffsetspertrigger"] == "5"
    assert "maxTimePerTrigger" not in options
    assert "maxOffsetsPerTrigger" not in options
