"""Runs the demo: telemetry is sent, a pipeline runs, the proof is made, the logic changes, the history is replayed."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from barnabas.testing import Broker
from demo.actors import PipelineProcess, SenderProcess
from demo.ending import print_changes, print_ending, print_replay
from demo.judge import Judge, Result
from demo.plan import TOPIC, WATERMARK_DELAY_MS, Plan
from demo.scene import Scene, Tail
from demo.view import View, view_of
from demo.workplace import change_logic, make_project

CHART = "chart.png"
LOG = "log"
"""The broker's data directory."""
PATIENCE_S = 180.0
"""For any one step. A busy machine takes its time to start a JVM."""
_FRAME_S = 0.1
_LOOK_EVERY_S = 1.0


class TimedOut(Exception):
    """A step of the demo did not finish in time, or failed."""


def simulation_start_ms(plan: Plan) -> int:
    """On a full minute, so that the simulation ends before now: brokers reject timestamps in the future."""
    length_ms = round(plan.seconds * plan.speed * 1000) + 4 * WATERMARK_DELAY_MS
    return (round(time.time() * 1000) - length_ms) // 60_000 * 60_000


def run(plan: Plan, folder: Path) -> int:
    """Run the demo; the exit status is 0 if the proof holds for both versions."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    project = make_project(folder, plan)
    scene = Scene(plan, project / ".barnabas")
    with Broker(process=True, data_dir=folder / LOG) as broker:
        judge = Judge(plan, broker.bootstrap_servers, project, folder / "sent.txt")
        play = Play(plan, scene, broker, folder, project, judge)
        try:
            result = play.perform()
        except TimedOut as error:
            print(f"error: {error}")
            return 1
    return 0 if all(proof.holds() for proof in result.proofs.values()) else 1


class Play:
    def __init__(self, plan: Plan, scene: Scene, broker: Broker, folder: Path, project: Path, judge: Judge) -> None:
        self._plan = plan
        self._scene = scene
        self._broker = broker
        self._folder = folder
        self._project = project
        self._judge = judge
        self._view: View | None = None

    def perform(self) -> Result:
        servers = self._broker.bootstrap_servers
        result = Result()
        with ExitStack() as stack:
            with self._shown():
                self._scene.note(f"the broker is up on {servers}, process {self._broker.pid}")
                self._broker.create_topic(TOPIC, self._plan.partitions)
                self._stream()
                # Spark starts for the replay while we judge what v1 has done.
                changes = change_logic(self._project)
                replay = PipelineProcess(self._project, servers, self._folder / "replay.log")
                stack.callback(replay.close)
                self._start(replay, "replay", "--as", "v2", "--from", "earliest", "--once", "--full-speed")
                self._judge_version("v1", result)
            print_ending(result.proofs["v1"], self._judge, result.outputs["v1"])
            if not result.proofs["v1"].holds():
                return result
            print_changes(changes)
            with self._shown():
                self._finish_replay(replay)
        with self._shown(), ExitStack() as stack:
            compare = self._started(stack, "compare", "v1", "v2", "--flow", "averages", "--limit", "3")
            self._judge_version("v2", result)
            comparison = self._finished(compare, "compare", may_end_with=(0, 1))
            switched = self._finished(self._started(stack, "switch", "v2"), "switch")
        from demo.chart import draw

        draw(self._judge.verdict, result.outputs["v1"], result.outputs["v2"], self._folder / CHART)
        print_replay(result, comparison, switched, self._folder / CHART, self._folder / LOG)
        return result

    def _stream(self) -> None:
        servers, plan, scene = self._broker.bootstrap_servers, self._plan, self._scene
        with ExitStack() as stack:
            pipeline = PipelineProcess(self._project, servers, self._folder / "run.log")
            stack.callback(pipeline.close)
            self._start(pipeline, "run")
            sender = SenderProcess(plan, servers, self._folder / "sent.txt", simulation_start_ms(plan))
            stack.callback(sender.close)
            scene.sender, scene.tail, scene.phase = sender, Tail(servers), "sending telemetry, starting the pipeline"
            stack.callback(scene.tail.close)
            scene.note(
                f"{plan.devices:,} devices send {plan.rate:,} events a second; a simulated minute is "
                f"{60 / plan.speed:.0f} s; Spark starts meanwhile"
            )
            self._wait("the pipeline's first batch", self._has_batches, pipeline)
            scene.phase = "sending telemetry, the pipeline is running"
            scene.note("the pipeline is running: averages, anomalies, a history, dead letters")
            self._wait("all events to be sent", lambda: not sender.is_alive(), pipeline)
            if sender.wait() != 0:
                raise TimedOut(f"{sender.count('failed')} events could not be delivered")
            scene.note(f"all {sender.count('acked'):,} events are acknowledged")
            scene.phase = "the pipeline finishes"
            self._judge.read_log()
            self._wait_or_go_on(self._is_complete("v1"), pipeline)
            pipeline.ask_to_stop()
            self._wait("the pipeline to stop", lambda: not pipeline.is_running(), None)
            scene.note("all events are processed, and the pipeline has stopped")

    def _finish_replay(self, replay: PipelineProcess) -> None:
        self._scene.version, self._scene.phase = "v2", "the history is replayed with changed logic"
        self._scene.note("v2 reads the history from its beginning, into its own outputs")
        self._wait("the replay to end", lambda: not replay.is_running(), None)
        if replay.status() != 0:
            raise TimedOut(f"the replay ended with {replay.status()}:\n{replay.output()[-2000:]}")
        self._scene.note("v2 has caught up with v1")

    def _started(self, stack: ExitStack, *command: str) -> PipelineProcess:
        process = PipelineProcess(self._project, self._broker.bootstrap_servers, self._folder / f"{command[0]}.log")
        stack.callback(process.close)
        self._start(process, *command)
        return process

    def _start(self, process: PipelineProcess, *command: str) -> None:
        process.start(*command)
        self._scene.note(f"barnabas pipeline {' '.join(command)}")

    def _finished(self, process: PipelineProcess, command: str, may_end_with: tuple[int, ...] = (0,)) -> str:
        """The output of the command."""
        self._scene.phase = f"barnabas pipeline {command}"
        self._wait(f"barnabas pipeline {command}", lambda: not process.is_running(), None)
        if process.status() not in may_end_with:
            raise TimedOut(f"{command} ended with {process.status()}:\n{process.output()[-2000:]}")
        return process.output().rstrip("\n")

    def _judge_version(self, version: str, result: Result) -> None:
        self._scene.phase = "making the proof, event by event"
        self._frame()
        result.outputs[version] = self._judge.outputs(version)
        result.proofs[version] = self._judge.prove(version, result.outputs[version])

    def _has_batches(self) -> bool:
        status = self._scene.status()
        return status is not None and any(flow.batch_id is not None for flow in status.flows)

    def _is_complete(self, version: str) -> Callable[[], bool]:
        """Reads the outputs now and then, not the counters of the pipeline."""
        next_look = 0.0

        def look() -> bool:
            nonlocal next_look
            if time.monotonic() < next_look:
                return False
            found = self._judge.prove(version).is_complete()
            next_look = time.monotonic() + _LOOK_EVERY_S
            return found

        return look

    @contextmanager
    def _shown(self) -> Iterator[None]:
        with view_of(self._scene) as self._view:
            yield

    def _wait(self, what: str, has_happened: Callable[[], bool], needed: PipelineProcess | None) -> None:
        if not self._wait_or_go_on(has_happened, needed):
            raise TimedOut(f"waited {PATIENCE_S:.0f} s for {what}")

    def _wait_or_go_on(self, has_happened: Callable[[], bool], needed: PipelineProcess | None) -> bool:
        until = time.monotonic() + PATIENCE_S
        while not has_happened():
            if time.monotonic() > until:
                return False
            if needed is not None and not needed.is_running():
                raise TimedOut(
                    f"the pipeline ended with {needed.status()}; the end of its output:\n{needed.output()[-3000:]}"
                )
            self._frame()
        return True

    def _frame(self) -> None:
        if self._view is not None:
            self._view.refresh()
        time.sleep(_FRAME_S)
