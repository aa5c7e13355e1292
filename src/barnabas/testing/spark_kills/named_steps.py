"""Kills at named steps of the protocol, in Spark's local mode: one run of the driver after another.

During a run, tasks and the broker are killed; it ends with a kill of the driver. Before the next run, its transactions
time out or not. The last run is not killed, and all rows must be written exactly once.
"""

import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from barnabas.client.cluster import Cluster
from barnabas.client.properties import client_settings
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_listing import open_transactions
from barnabas.spark.sink.exactly_once import steps
from barnabas.spark.sink.exactly_once.names import DEFAULT_PREFIX
from barnabas.testing.broker import Broker
from barnabas.testing.spark_kills.driver_process import DriverProcess
from barnabas.testing.spark_kills.rounds import LOOK_AGAIN_S, ROUND_TIMEOUT_S, RowsMissing
from barnabas.testing.spark_kills.topics import (
    INPUT,
    OUTPUT,
    OutputReader,
    create_topics,
    produce,
    read_committed,
)

ROWS_PER_LIFE: Final = 60
ROWS_PER_BATCH: Final = 30
_TIMEOUT_MS: Final = 900_000


class DriverRun(NamedTuple):
    kills: tuple[tuple[str, str], ...]
    """Steps, and what is killed at them: `self` (a task), `broker`, `driver`."""
    times_out: bool = False
    """Whether open transactions are aborted before the next run."""


SHORT: Final = DriverRun(
    ((steps.TASK_WRITING, "self"), (steps.POINTER_WRITTEN, "broker"), (steps.DECIDED, "driver")), times_out=True
)
"""For `make test`: each kind of kill, and a roll-forward."""


def every_step() -> Iterator[DriverRun]:
    for step in steps.TASK_STEPS:
        yield DriverRun(((step, "self"), (step, "driver")))
    for number, step in enumerate(steps.COMMIT_STEPS):
        yield DriverRun(((step, "broker"), (step, "driver")), times_out=bool(number % 2))
    for number, step in enumerate(steps.ROLL_FORWARD_STEPS):
        yield DriverRun(((steps.DECIDED, "driver"),), times_out=True)
        yield DriverRun(((step, "driver"),), times_out=bool(number % 2))


class StepResult(NamedTuple):
    lives: int
    steps: Counter[str]
    rows_in: Counter[str]
    rows_out: Counter[str]

    @property
    def is_exact(self) -> bool:
        return self.rows_in == self.rows_out


class Server(Protocol):
    """Any running Kafka."""

    @property
    def bootstrap_servers(self) -> str: ...


def run_lives(
    lives: Sequence[DriverRun], tell: Callable[[str], None] = print, *, server: Server | None = None
) -> StepResult:
    """On a new broker, or on `server`, which is not killed."""
    home = Path(tempfile.mkdtemp(prefix="barnabas-spark-steps-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        broker = stack.enter_context(Broker(process=True)) if server is None else None
        bootstrap = broker.bootstrap_servers if broker is not None else server.bootstrap_servers if server else ""
        create_topics(bootstrap)
        if broker is not None:
            stack.enter_context(_kept_running(broker))
        run = _Run(home, bootstrap, broker, tell)
        stack.callback(run.close)
        for life in lives:
            run.life(life)
        return run.finish()


@contextmanager
def _kept_running(broker: Broker) -> Iterator[None]:
    """Restart the broker whenever it was killed, even while the run waits for it."""
    over = threading.Event()

    def keep() -> None:
        while not over.wait(LOOK_AGAIN_S):
            if not broker.is_running():
                broker.start()

    keeper = threading.Thread(target=keep, name="keeper")
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()


class _Run:
    def __init__(self, home: Path, bootstrap: str, broker: Broker | None, tell: Callable[[str], None]) -> None:
        self._home = home
        self._bootstrap = bootstrap
        self._broker = broker
        self._tell = tell
        self._lives = 0
        self._expected: list[str] = []
        self._steps = home / "steps"
        self._reader = OutputReader(bootstrap)
        self._driver = DriverProcess(self._settings(), home / "driver.log")

    def life(self, life: DriverRun) -> None:
        self._lives += 1
        self._produce()
        made = [self._home / f"killed-{self._lives}-{number}" for number in range(len(life.kills))]
        pids = {"broker": str(self._broker.pid)} if self._broker is not None else {}
        kills = {
            "killAt": ";".join(step for step, _ in life.kills),
            "killWhat": ";".join(pids.get(what, what) for _, what in life.kills),
            "killOnce": ";".join(str(path) for path in made),
        }
        self._driver.start(sink={**self._settings()["sink"], **kills})
        # The last kill is that of the driver; produce rows for more batches until it happens.
        self._wait_until(lambda: not self._driver.is_running(), produces=True)
        if not made[-1].exists():
            raise RowsMissing(f"the driver ended without being killed at {life.kills[-1][0]}\n{self._driver.log_end()}")
        timed_out = self._time_out() if life.times_out else 0
        self._tell(
            f"life {self._lives}: killed {', '.join(f'{what} at {step}' for step, what in life.kills)}; "
            f"{timed_out} transactions timed out"
        )

    def finish(self) -> StepResult:
        self._driver.start()
        self._wait_until(self._all_are_out)
        self._driver.kill()
        passed = Counter(line.split()[-1] for line in self._steps.read_text().splitlines())
        rows_out = read_committed(self._bootstrap)
        return StepResult(self._lives, passed, Counter(self._expected), rows_out)

    def close(self) -> None:
        self._driver.close()
        self._reader.close()

    def _settings(self) -> dict[str, Any]:
        return {
            "master": "local[2,8]",  # two cores, and the number of attempts of a task
            "conf": {"spark.driver.memory": "600m", "spark.sql.streaming.noDataMicroBatches.enabled": "false"},
            "bootstrap": self._bootstrap,
            "input": INPUT,
            "output": OUTPUT,
            "checkpoint": str(self._home / "checkpoint"),
            "rows_per_batch": ROWS_PER_BATCH,
            "tasks": 3,
            "sink": {"exactlyOnce": "true", "stepsTo": str(self._steps)},
        }

    def _produce(self) -> None:
        start = len(self._expected)
        values = [f"{start + index}" for index in range(ROWS_PER_LIFE)]
        produce(self._bootstrap, values)
        self._expected += values

    def _time_out(self) -> int:
        with Cluster(client_settings({"bootstrap.servers": self._bootstrap})) as cluster:
            open_ones = open_transactions(cluster, DEFAULT_PREFIX)
            for transactional_id in open_ones:
                Transactions(cluster).abandon(transactional_id, timeout_ms=_TIMEOUT_MS)
        return len(open_ones)

    def _all_are_out(self) -> bool:
        self._reader.read()
        return not Counter(self._expected) - self._reader.seen

    def _wait_until(self, condition: Callable[[], bool], *, produces: bool = False) -> None:
        deadline = time.monotonic() + ROUND_TIMEOUT_S
        while not condition():
            if produces and self._all_are_out():
                self._produce()
            if time.monotonic() > deadline:
                raise RowsMissing(f"timed out\n{self._driver.log_end()}")
            time.sleep(LOOK_AGAIN_S)
