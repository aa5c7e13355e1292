"""One run: start everything, inject faults for the given time, stop, write the history."""

import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from confluent_kafka import KafkaException

from barnabas.testing.checker import history
from barnabas.testing.checker.ending import Ending
from barnabas.testing.checker.faults import FAULTS
from barnabas.testing.checker.history import Recorder
from barnabas.testing.checker.nemesis import Nemesis
from barnabas.testing.checker.stage import Stage
from barnabas.testing.checker.target import OtherCluster, OwnBroker, create_topics
from barnabas.testing.checker.workloads import Workload, make_workload

PROGRESS_EVERY_SECONDS: Final = 5.0
TICK_SECONDS: Final = 0.05
START_SECONDS_MAX: Final = 30.0


@dataclass(frozen=True)
class Plan:
    workload: str
    seconds: float
    seed: int
    directory: Path
    """The directory for the broker's data, the clients' files and errors, and the history."""
    bootstrap: str | None = None
    """An existing cluster; None: start a broker."""
    config: dict[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = FAULTS
    broken: str | None = None
    """A defect to build into our own broker, see `barnabas.testing.faulty_serve`."""


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(plan: Plan, tell: Callable[[str], None] = progress) -> Path:
    """Returns the path of the history. Raises RuntimeError if a client failed, or the cluster does not answer."""
    plan.directory.mkdir(parents=True, exist_ok=True)
    rng = Random(plan.seed)
    target = OtherCluster(plan.bootstrap) if plan.bootstrap else OwnBroker(plan.directory, plan.broken)
    recorder = Recorder(plan.directory / "runner.jsonl.part", "runner")
    prefix = f"check-{secrets.token_hex(4)}" if plan.bootstrap else "check"
    workload = make_workload(plan.workload, plan.seed, prefix, own_broker=plan.bootstrap is None)
    try:
        create_topics(target.bootstrap, workload, plan.config)
        stage = Stage(
            workload,
            bootstrap=target.bootstrap,
            config=plan.config,
            directory=plan.directory,
            rng=Random(rng.getrandbits(32)),
        )
        nemesis = Nemesis(Random(rng.getrandbits(32)), stage, target, recorder, plan.faults)
        try:
            _wait_for_all(stage)
            _go(plan.seconds, stage, nemesis, tell)
            _end(workload, stage, Ending(target.bootstrap, plan.config, recorder), tell)
        except KafkaException as error:
            raise RuntimeError(f"{target.bootstrap} cannot be used: {error}") from error
        finally:
            stage.kill_all()
    finally:
        recorder.close()
        target.close()
    path = plan.directory / "history.jsonl"
    history.write(path, workload.header, history.merge(stage.histories()))
    if stage.failures:
        raise RuntimeError("\n".join((*stage.failures, f"the history so far is in {path}")))
    return path


def _wait_for_all(stage: Stage) -> None:
    """Wait until every client has recorded something: earlier faults would have no effect."""
    stage.fill()
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        if sum(path.stat().st_size > 0 for path in stage.histories()) >= len(stage.slots):
            return
        time.sleep(TICK_SECONDS)


def _go(seconds: float, stage: Stage, nemesis: Nemesis, tell: Callable[[str], None]) -> None:
    started = last_report = time.monotonic()
    while (now := time.monotonic()) < started + seconds:
        stage.fill()
        nemesis.act_if_due()
        if now - last_report >= PROGRESS_EVERY_SECONDS:
            last_report = now
            noted_bytes = sum(path.stat().st_size for path in stage.histories())
            done = ", ".join(f"{count} x {fault}" for fault, count in sorted(nemesis.done.items()))
            tell(f"{now - started:.0f} of {seconds:.0f} s, {noted_bytes / 1e6:.1f} MB of events; {done or 'no faults'}")
        time.sleep(TICK_SECONDS)


def _end(workload: Workload, stage: Stage, ending: Ending, tell: Callable[[str], None]) -> None:
    for slot in stage.slots:
        stage.resume(slot)
        slot.return_at = 0.0
    stage.fill()
    tell("no more faults; waiting for the clients to finish")
    stage.stop([slot for slot in stage.slots if slot.actor.is_source])
    for group, topics in workload.groups.items():
        if not ending.wait_for_group(group, _places(workload, topics), meanwhile=stage.fill):
            tell(f"group {group} did not reach the end")
    stage.stop([slot for slot in stage.slots if not slot.actor.is_source])
    ending.fence(actor.transactional_id for actor in workload.actors if actor.transactional_id)
    tell("reading everything")
    for isolation in ("read_committed", "read_uncommitted"):
        ending.read_all(isolation, _places(workload, tuple(workload.partitions)))


def _places(workload: Workload, topics: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(topic, index) for topic in topics for index in range(workload.partitions[topic])]
