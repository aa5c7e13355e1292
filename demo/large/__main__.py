"""`python -m demo.large`: 20 million events are replayed with changed logic while the old version runs live.

The live version must not fall behind during the replay; after the switch, every event must be in the outputs of the new
version exactly once.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from barnabas.testing import Broker
from demo.actors import PipelineProcess, SenderProcess, set_flags
from demo.large import old_events
from demo.large.chart import draw
from demo.large.lag import LagWatch, Sample
from demo.large.progress import Progress
from demo.large.verdict import Verdict, judge
from demo.plan import TOPIC, Plan
from demo.play import TimedOut, simulation_start_ms
from demo.proof import read_notes
from demo.telemetry import devices_of
from demo.workplace import change_logic, make_project

FLOWS: Final = ("averages", "anomalies", "history", "readings.dead")
_LOOK_EVERY_S: Final = 1.0
_ALONE_S: Final = 60.0
"""How long the live version runs alone: its lag must not grow afterwards."""
_CAUGHT_UP_S: Final = 10.0
"""A replay that is this many seconds of live events behind has caught up: it is always about a batch behind."""
_PATIENCE_S: Final = 3600.0
_FOR_LONG: Final = {
    # The demo's settings are for one minute; this runs longer and has more state.
    "spark.conf.spark.driver.memory": "4g",
    "spark.conf.spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}
_LIVE: Final = {"sources.readings.start": "latest", "trigger": "10 seconds"}
"""Batches without a pause would take three times the CPU for the same rows."""


@dataclass
class Outcome:
    verdict: Verdict
    samples: list[Sample]
    replay_s: float
    alone_max: int
    beside_early: int
    beside_late: int

    def holds(self) -> bool:
        """A growing lag is larger in the second half of the replay; a difference of one batch is chance."""
        return self.verdict.holds() and self.beside_late <= 2 * max(self.beside_early, self.alone_max)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m demo.large", description=__doc__)
    parser.add_argument("--events", type=int, default=20_000_000, help="of history [default: 20000000]")
    parser.add_argument("--rate", type=int, default=Plan().rate, help="events a second meanwhile [default: the demo's]")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the lags as a PNG")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the samples as JSON")
    options = parser.parse_args()
    # Stop all processes on SIGTERM.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    plan = Plan(rate=options.rate, seconds=_PATIENCE_S, speed=60)
    try:
        with tempfile.TemporaryDirectory(prefix="barnabas-large-") as folder:
            outcome = LargeReplay(plan, options.events, Path(folder)).run()
    except TimedOut as error:
        print(f"error: {error}")
        return 1
    print(
        f"replayed {options.events:,} events in {outcome.replay_s:.0f} s beside {options.rate:,} live events a second"
    )
    print(
        f"lag of the live version, records: at most {outcome.alone_max:,} alone; "
        f"median {outcome.beside_early:,} in the first half of the replay, {outcome.beside_late:,} in the second"
    )
    print("\n".join(outcome.verdict.lines()))
    if options.save:
        options.save.write_text(json.dumps([sample._asdict() for sample in outcome.samples]) + "\n")
    if options.chart:
        draw(outcome.samples, outcome.replay_s, options.events, options.chart)
    print("passed" if outcome.holds() else "FAILED")
    return 0 if outcome.holds() else 1


class LargeReplay:
    def __init__(self, plan: Plan, events: int, folder: Path) -> None:
        self._plan = plan
        self._events = events
        self._folder = folder

    def run(self) -> Outcome:
        project = make_project(self._folder, self._plan)
        start_ms = simulation_start_ms(self._plan)
        with ExitStack() as stack:
            broker = stack.enter_context(Broker(process=True, data_dir=self._folder / "data"))
            broker.create_topic(TOPIC, self._plan.partitions)
            servers = broker.bootstrap_servers
            old_events.send(servers, devices_of(self._plan), self._events, start_ms)
            live = PipelineProcess(project, servers, self._folder / "v1.log")
            stack.callback(live.close)
            live.start("run", *set_flags({**_FOR_LONG, **_LIVE}))
            watch = LagWatch(servers, "telemetry", FLOWS, self._plan.partitions)
            stack.callback(watch.close)
            self._until("the live version to run", lambda: _has_begun(watch), live)
            notes = self._folder / "sent.txt"
            sender = SenderProcess(self._plan, servers, notes, start_ms)
            stack.callback(sender.close)
            watch.begin()
            alone = self._sampled(watch, ["v1"], lambda sample: sample.at_s > _ALONE_S, live)
            change_logic(project)
            replay = PipelineProcess(project, servers, self._folder / "v2.log")
            stack.callback(replay.close)
            replay.start("replay", "--as", "v2", "--from", "earliest", *set_flags(_FOR_LONG))
            watch.begin()
            behind = _CAUGHT_UP_S * self._plan.rate
            with Progress("replaying", self._events) as progress:
                beside = self._sampled(
                    watch, ["v1", "v2"], lambda sample: sample.lag["v2"] < behind, live, replay, progress=progress
                )
            replay_s = beside[-1].at_s
            self._switch(project, servers)
            sender.ask_to_finish()
            if sender.wait() != 0:
                raise TimedOut("not all live events could be delivered")
            self._sampled(watch, ["v1", "v2"], lambda sample: not any(sample.lag.values()), live, replay)
            for process in (replay, live):
                process.ask_to_stop()
                self._until("a version to stop", lambda process=process: not process.is_running())  # type: ignore[misc]
            verdict = judge(servers, project, "v2", self._events, read_notes(notes))
        half = len(beside) // 2
        return Outcome(
            verdict,
            beside,
            replay_s,
            max(sample.lag["v1"] for sample in alone),
            _median(beside[:half]),
            _median(beside[half:]),
        )

    def _switch(self, project: Path, servers: str) -> None:
        """Retry until the new version has caught up with the old one."""

        def switched() -> bool:
            command = PipelineProcess(project, servers, self._folder / "switch.log")
            command.start("switch", "v2")
            self._until("the switch", lambda: not command.is_running())
            return command.status() == 0

        self._until("v2 to catch up with v1", switched)

    def _sampled(
        self,
        watch: LagWatch,
        versions: list[str],
        is_enough: Callable[[Sample], bool],
        *processes: PipelineProcess,
        progress: Progress | None = None,
    ) -> list[Sample]:
        samples: list[Sample] = []

        def look() -> bool:
            samples.append(watch.look(versions))
            if progress is not None:
                progress.at(max(0, self._events - samples[-1].lag["v2"]))
            return is_enough(samples[-1])

        self._until("lags", look, *processes)
        return samples

    def _until(self, what: str, is_so: Callable[[], bool], *processes: PipelineProcess) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not is_so():
            for process in processes:
                if not process.is_running():
                    raise TimedOut(f"waiting for {what}: a version ended:\n{process.output()[-3000:]}")
            if time.monotonic() > deadline:
                raise TimedOut(f"waited {_PATIENCE_S:.0f} s for {what}")
            time.sleep(_LOOK_EVERY_S)


def _has_begun(watch: LagWatch) -> bool:
    """Whether each flow has committed its starting position, the end of the history."""
    return watch.look(["v1"]).lag["v1"] == 0


def _median(samples: list[Sample]) -> int:
    return sorted(sample.lag["v1"] for sample in samples)[len(samples) // 2]


if __name__ == "__main__":
    sys.exit(main())
