"""The proof of the demo while processes are killed: `python -m demo.kills --rounds 20`.

In each round a sender sends and a pipeline runs. Then, in random order and at random moments, each once:

    driver    SIGKILL for the program and its JVM; restarted from its checkpoints
    worker    on a cluster: SIGKILL for a worker of Spark, its executor and their Python processes; started again.
              Without one: SIGKILL for one of the Python processes in which sources, sinks and tasks run
    broker    SIGKILL; started again on its port and data, some moments later

A pipeline that ends by itself, as it may without its broker or worker, is restarted, as a supervisor would do. Then the
sender finishes, all events must be processed, and the proof is made as in the demo. The seed determines events, order
and times; what the processes are doing at those times is random.

With `--sabotage` one flow loses its checkpoint while the driver is down: then the proof must fail.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from barnabas.pipeline import status as statuses
from barnabas.testing import Broker
from barnabas.testing.spark_cluster import SparkCluster
from demo.actors import PipelineProcess, SenderProcess, set_flags
from demo.judge import Judge
from demo.plan import TOPIC, Plan
from demo.play import TimedOut, simulation_start_ms
from demo.proof import Proof
from demo.workplace import make_project

VICTIMS = ("driver", "worker", "broker")
SABOTAGED = "anomalies"
KILL_WITHIN_S = 6.0
"""Several batches long."""
BROKER_AWAY_S = 3.0
PATIENCE_S = 600.0
"""A driver restarts in ten seconds; on a busy machine it may take minutes."""
_CHECK_EVERY_S = 0.1
_LOOK_AT_OUTPUTS_S = 2.0

Tell = Callable[[str], None]


@dataclass
class Round:
    proof: Proof
    kills: list[str] = field(default_factory=list)
    starts: int = 0
    seconds: float = 0.0


def run_rounds(rounds: int, seed: int, *, cluster: bool, sabotage: bool = False, tell: Tell = print) -> list[Round]:
    done: list[Round] = []
    with ExitStack() as stack:
        spark = stack.enter_context(SparkCluster(workers=2, cores=2, memory="1g")) if cluster else None
        for number in range(1, rounds + 1):
            with tempfile.TemporaryDirectory(prefix="barnabas-demo-kills-") as folder:
                found = _Round(Path(folder), seed * 1000 + number, spark, sabotage=sabotage).run()
            done.append(found)
            verdict = "holds" if found.proof.holds() else "FAILS"
            tell(
                f"round {number}: {', '.join(found.kills)}; {found.starts} starts, {found.seconds:.0f} s; "
                f"{found.proof.line()}; the proof {verdict}"
            )
            for check in found.proof.checks:
                if not check.holds():
                    tell(f"  {check}")
    return done


class _Round:
    def __init__(self, folder: Path, seed: int, spark: SparkCluster | None, *, sabotage: bool) -> None:
        # Sending continues until the last kill; a fifth of the demo's rate leaves the machine time for the restarts.
        self._plan = Plan(seed=seed, rate=500, seconds=900, speed=60)
        self._random = Random(seed)
        self._folder = folder
        self._project = make_project(folder, self._plan)
        self._spark = spark
        self._sabotage = sabotage
        self._state = self._project / ".barnabas" / "v1"

    def run(self) -> Round:
        began = time.monotonic()
        with ExitStack() as stack:
            self._broker = stack.enter_context(Broker(process=True))
            self._broker.create_topic(TOPIC, self._plan.partitions)
            servers = self._broker.bootstrap_servers
            self._pipeline = PipelineProcess(self._project, servers, self._folder / "run.log")
            stack.callback(self._pipeline.close)
            notes = self._folder / "sent.txt"
            sender = SenderProcess(self._plan, servers, notes, simulation_start_ms(self._plan))
            stack.callback(sender.close)
            kills = [self._kill(victim) for victim in self._random.sample(VICTIMS, len(VICTIMS))]
            self._restart_until("the pipeline works again", self._works)
            sender.ask_to_finish()
            self._restart_until("the sender is done", lambda: not sender.is_alive())
            if sender.wait() != 0:
                raise TimedOut(f"{sender.count('failed')} events could not be delivered")
            judge = Judge(self._plan, servers, self._project, notes)
            judge.read_log()
            self._drain(judge)
            return Round(judge.prove("v1"), kills, self._pipeline.starts, time.monotonic() - began)

    def _kill(self, victim: str) -> str:
        self._restart_until("the pipeline works", self._works)
        after_s = self._random.uniform(0.0, KILL_WITHIN_S)
        time.sleep(after_s)
        if victim == "driver":
            self._pipeline.kill()
            if self._sabotage:
                shutil.rmtree(self._state / SABOTAGED / "checkpoint")
        elif victim == "broker":
            self._broker.kill()
            time.sleep(self._random.uniform(0.0, BROKER_AWAY_S))
            self._broker.start()
        elif self._spark is not None:
            self._random.choice(self._spark.workers).restart()
        else:
            self._kill_a_python_worker()
        return f"{victim} after {after_s:.1f} s"

    def _kill_a_python_worker(self) -> None:
        processes = sorted(self._pipeline.python_workers()) if self._pipeline.is_running() else []
        if processes:
            try:
                os.kill(self._random.choice(processes), signal.SIGKILL)
            except ProcessLookupError:  # its task has just ended
                return

    def _works(self) -> bool:
        """Whether this very process has finished a batch of every flow."""
        status = statuses.read(self._state)
        if status is None or status.pid != self._pipeline.pid or not self._pipeline.is_running():
            return False
        return bool(status.flows) and all(flow.batch_id is not None for flow in status.flows)

    def _drain(self, judge: Judge) -> None:
        """Wait until nothing is missing, then stop the pipeline. The proof checks everything else."""
        deadline = time.monotonic() + PATIENCE_S
        while not judge.prove("v1").is_complete() and time.monotonic() < deadline:
            until = time.monotonic() + _LOOK_AT_OUTPUTS_S
            self._restart_until("the next look", lambda until=until: time.monotonic() > until)  # type: ignore[misc]
        self._pipeline.ask_to_stop()
        stop_by = time.monotonic() + PATIENCE_S
        while self._pipeline.is_running() and time.monotonic() < stop_by:
            time.sleep(_CHECK_EVERY_S)

    def _restart_until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition, and restart the pipeline whenever it has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            if not self._pipeline.is_running():
                self._pipeline.start("run", *self._settings())
            if condition():
                return
            if time.monotonic() > deadline:
                raise TimedOut(f"seed {self._plan.seed}: timed out waiting until {what}\n{self._recent_output()}")
            time.sleep(_CHECK_EVERY_S)

    def _settings(self) -> list[str]:
        if self._spark is None:
            return []
        conf = {"spark.cores.max": "2", "spark.executor.cores": "1", "spark.executor.memory": "600m"}
        return set_flags({"spark.master": self._spark.url, **{f"spark.conf.{name}": conf[name] for name in conf}})

    def _recent_output(self) -> str:
        return self._pipeline.output()[-3000:]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m demo.kills", description="Kill everything while the demo runs.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None, help="of all random choices; printed if it is not given")
    parser.add_argument(
        "--local", action="store_true", help="in one JVM instead of a standalone cluster of two workers"
    )
    parser.add_argument("--sabotage", action="store_true", help="exits with 1 unless the proof fails in every round")
    given = parser.parse_args(arguments)
    # Stop all processes on SIGTERM.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    seed = random.randrange(1 << 20) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    began = time.monotonic()
    rounds = run_rounds(
        given.rounds,
        seed,
        cluster=not given.local,
        sabotage=given.sabotage,
        tell=lambda line: print(line, flush=True),
    )
    held = sum(each.proof.holds() for each in rounds)
    kills = sum(len(each.kills) for each in rounds)
    print(
        f"seed {seed}: the proof held in {held} of {len(rounds)} rounds, with {kills} kills and "
        f"{sum(each.starts for each in rounds)} starts of the pipeline, "
        f"{sum(each.proof.sent for each in rounds):,} events, {time.monotonic() - began:.0f} s"
    )
    return 0 if held == (0 if given.sabotage else len(rounds)) else 1


if __name__ == "__main__":
    sys.exit(main())
