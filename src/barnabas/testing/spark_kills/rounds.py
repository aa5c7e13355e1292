"""Rounds of a query: rows are produced, something is killed at a random time, and all rows must be written.

    driver     SIGKILL for its program and JVM; restarted from its checkpoint
    executor   SIGKILL for the executors of one worker, which starts new ones
    worker     SIGKILL for a worker, its executors and their Python processes; restarted
    task       SIGKILL for one Python process in which tasks run
    broker     SIGKILL; restarted on the same port with the same data

A driver whose query fails is restarted. Transactions time out after two seconds in every second run, and never in the
others. All choices depend on the seed, but timing is real.
"""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from barnabas.testing.broker import Broker
from barnabas.testing.spark_cluster import SparkCluster
from barnabas.testing.spark_kills.driver_process import DriverProcess
from barnabas.testing.spark_kills.topics import (
    INPUT,
    OUTPUT,
    OutputReader,
    create_topics,
    produce,
    read_committed,
)

VICTIMS: Final = ("driver", "executor", "worker", "task", "broker")
ROWS_PER_ROUND: Final = 300
ROWS_PER_BATCH: Final = 30
"""Ten batches of at least half a second each, so that most kills happen during a batch."""
KILL_WITHIN_S: Final = 4.0
ROUND_TIMEOUT_S: Final = 900.0
"""A driver restarts in ten seconds; on a busy machine it may take minutes."""
LOOK_AGAIN_S: Final = 0.2
_TIMEOUTS_MS: Final = ("900000", "2000")

Print = Callable[[str], None]


class RowsMissing(Exception):
    """Not all rows were written in time. The message has the end of the driver's log."""


@dataclass
class Result:
    seed: int
    rounds: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    driver_starts: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    second_attempts: int = 0
    aborted_records: int = 0
    rows_in: int = 0
    rows_out: int = 0
    missing: int = 0
    doubled: int = 0
    foreign: int = 0
    seconds: float = 0.0

    @property
    def is_exact(self) -> bool:
        return self.rows_in == self.rows_out and not (self.missing or self.doubled or self.foreign)


def run_rounds(rounds: int, seed: int, *, exactly_once: bool = True, tell: Print = print) -> Result:
    home = Path(tempfile.mkdtemp(prefix="barnabas-spark-kills-"))
    began = time.monotonic()
    properties = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
    try:
        with (
            Broker(process=True, properties=properties) as broker,
            SparkCluster(workers=2, cores=2, memory="1g") as spark,
        ):
            create_topics(broker.bootstrap_servers)
            run = _Run(home, broker, spark, seed, exactly_once=exactly_once, tell=tell)
            try:
                for number in range(rounds):
                    run.round(number)
                return run.result(time.monotonic() - began)
            finally:
                run.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _Run:
    def __init__(
        self, home: Path, broker: Broker, spark: SparkCluster, seed: int, *, exactly_once: bool, tell: Print
    ) -> None:
        self._broker = broker
        self._spark = spark
        self._random = Random(seed)
        self._tell = tell
        self._seed = seed
        self._steps = home / "steps"
        self._exactly_once = exactly_once
        self._expected: list[str] = []
        self._rounds = 0
        self._kills: Counter[str] = Counter()
        self._reader = OutputReader(broker.bootstrap_servers)
        self._driver = DriverProcess(self._driver_settings(home), home / "driver.log")
        self._start_driver()
        self._wait_until(self._driver.is_started)

    def round(self, number: int) -> None:
        began = time.monotonic()
        values = [f"{number}:{index}" for index in range(ROWS_PER_ROUND)]
        produce(self._broker.bootstrap_servers, values)
        self._expected += values
        time.sleep(self._random.uniform(0.0, KILL_WITHIN_S))
        victim = self._random.choice(VICTIMS)
        self._kill(victim)
        self._kills[victim] += 1
        self._wait_until(self._all_are_out)
        self._rounds += 1
        self._tell(f"round {number + 1}: {victim} killed, all rows written after {time.monotonic() - began:.1f} s")

    def result(self, seconds: float) -> Result:
        self._driver.kill()
        seen = read_committed(self._broker.bootstrap_servers)
        expected = Counter(self._expected)
        passed = [line.split() for line in self._steps.read_text().splitlines()] if self._steps.exists() else []
        return Result(
            seed=self._seed,
            rounds=self._rounds,
            kills=self._kills,
            driver_starts=self._driver.starts,
            steps=Counter(step for *_, step in passed),
            second_attempts=sum(
                step == "task-begun" and attempt.partition("/")[2] not in ("", "0") for _, _, attempt, step in passed
            ),
            aborted_records=self._reader.aborted_records,
            rows_in=expected.total(),
            rows_out=seen.total(),
            missing=len(expected - seen),
            doubled=sum(count - 1 for value, count in seen.items() if value in expected),
            foreign=len(set(seen) - set(expected)),
            seconds=seconds,
        )

    def close(self) -> None:
        self._driver.close()
        self._reader.close()

    def _driver_settings(self, home: Path) -> dict[str, Any]:
        sink = {"exactlyOnce": str(self._exactly_once).lower(), "stepsTo": str(self._steps)}
        conf = {
            "spark.cores.max": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "600m",
            "spark.task.maxFailures": "8",
            "spark.speculation": "true",
            "spark.speculation.interval": "100ms",
            "spark.speculation.multiplier": "1.2",
            "spark.speculation.quantile": "0.3",
            "spark.speculation.minTaskRuntime": "100ms",
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        }
        return {
            "master": self._spark.url,
            "conf": conf,
            "bootstrap": self._broker.bootstrap_servers,
            "input": INPUT,
            "output": OUTPUT,
            "checkpoint": str(home / "checkpoint"),
            "rows_per_batch": ROWS_PER_BATCH,
            "tasks": 3,
            "sink": sink,
        }

    def _start_driver(self) -> None:
        sink = {"exactlyOnce": str(self._exactly_once).lower(), "stepsTo": str(self._steps)}
        sink["kafka.transaction.timeout.ms"] = _TIMEOUTS_MS[self._driver.starts % 2]
        self._driver.start(sink=sink)

    def _kill(self, victim: str) -> None:
        worker = self._random.choice(self._spark.workers)
        if victim == "driver":
            self._driver.kill()
        elif victim == "executor":
            worker.kill_executors()
        elif victim == "worker":
            worker.restart()
        elif victim == "task":
            self._kill_task()
        else:
            self._broker.kill()
            self._broker.start()

    def _kill_task(self) -> None:
        import os
        import signal

        processes = sorted(pid for worker in self._spark.workers for pid in worker.python_workers())
        if processes:
            try:
                os.kill(self._random.choice(processes), signal.SIGKILL)
            except ProcessLookupError:  # its task has just ended
                return

    def _all_are_out(self) -> bool:
        self._reader.read()
        return not Counter(self._expected) - self._reader.seen

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait, and restart the driver whenever it has ended."""
        deadline = time.monotonic() + ROUND_TIMEOUT_S
        while not condition():
            if not self._driver.is_running():
                self._start_driver()
            if time.monotonic() > deadline:
                raise RowsMissing(f"seed {self._seed}: not all rows were written in time\n{self._driver.log_end()}")
            time.sleep(LOOK_AGAIN_S)
