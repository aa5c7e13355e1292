"""The play: everything runs, a member is killed, the broker is killed, everybody finishes, the notes are compared."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from barnabas.testing import Broker
from demo.actors import Actor
from demo.proof import Proof, prove, read_acked, read_processed
from demo.scene import Scene
from demo.view import View, print_ending, view_of

TOPIC = "orders"
GROUP = "workers"

# Short sessions, so that the takeover can be watched, and small segments, so that they roll during the play.
BROKER_PROPERTIES = {"group.min.session.timeout.ms": "1000", "log.segment.bytes": str(4 << 20)}

_PATIENCE_S = 60.0
_FRAME_S = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    senders: int = 3
    members: int = 3
    partitions: int = 6
    rate: int = 2000
    """Records per second and sender."""
    act_s: float = 5.0
    """How long to watch between one event and the next."""
    session_timeout_ms: int = 4000


class SomethingNeverHappened(Exception):
    """A step of the play was waited for in vain."""


def run(plan: Plan) -> int:
    """Perform it; the exit status is 0 if the proof holds."""
    scene = Scene(plan.partitions)
    with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as directory:
        try:
            with view_of(scene) as view, Broker(process=True, properties=BROKER_PROPERTIES) as broker:
                Play(plan, scene, view, broker, Path(directory)).perform()
        except SomethingNeverHappened as error:
            print(f"error: {error}")
            return 1
        proof = _prove(Path(directory))
        notes = {path.name: len(path.read_text().splitlines()) for path in Path(directory).iterdir()}
    print_ending(scene, proof, notes)
    return 0 if proof.holds() else 1


class Play:
    def __init__(self, plan: Plan, scene: Scene, view: View, broker: Broker, directory: Path) -> None:
        self._plan = plan
        self._scene = scene
        self._view = view
        self._broker = broker
        self._directory = directory

    def perform(self) -> None:
        self._scene.broker = "up"
        self._scene.note(f"the broker is up on {self._broker.bootstrap_servers}, pid {self._broker.pid}")
        self._broker.create_topic(TOPIC, self._plan.partitions)
        with self._cast():
            self._everybody_works()
            self._watch(self._plan.act_s)
            self._kill_a_member()
            self._watch(self._plan.act_s)
            self._kill_the_broker()
            self._watch(self._plan.act_s)
            self._finish()

    @contextmanager
    def _cast(self) -> Iterator[None]:
        servers, plan, scene = self._broker.bootstrap_servers, self._plan, self._scene
        try:
            for number in range(1, plan.members + 1):
                notes = self._directory / f"processed-member-{number}"
                arguments = (servers, TOPIC, GROUP, plan.session_timeout_ms, notes)
                scene.members.append(Actor("member", f"member-{number}", *arguments))
            for number in range(1, plan.senders + 1):
                notes = self._directory / f"acked-sender-{number}"
                scene.senders.append(Actor("sender", f"sender-{number}", servers, TOPIC, plan.rate, notes))
            yield
        finally:
            for actor in [*scene.senders, *scene.members]:
                actor.close()

    def _everybody_works(self) -> None:
        members = self._scene.members
        self._wait("every member to have partitions and work", lambda: all(m.count("processed") for m in members))
        self._scene.note(f"{len(members)} members share {self._plan.partitions} partitions, records flow")

    def _kill_a_member(self) -> None:
        victim = max(self._scene.living_members(), key=lambda member: len(member.assigned()))
        orphans = victim.assigned()
        victim.kill()
        self._scene.note(f"{victim.name} (pid {victim.pid}) got SIGKILL; it was reading partitions {_listed(orphans)}")
        killed = time.monotonic()
        self._wait("the partitions to be taken over", lambda: self._are_read(orphans))
        heirs = {member.name for member in self._scene.living_members() if set(member.assigned()) & set(orphans)}
        took_s = time.monotonic() - killed
        self._scene.note(f"{' and '.join(sorted(heirs))} took over partitions {_listed(orphans)} after {took_s:.1f} s")

    def _kill_the_broker(self) -> None:
        pid = self._broker.pid
        self._broker.kill()
        self._scene.broker = "down"
        self._scene.note(f"the broker (pid {pid}) got SIGKILL with {self._in_flight():,} records in flight")
        self._watch(1.0)
        before, started = self._scene.acked(), time.monotonic()
        self._broker.start()
        self._scene.broker = "up"
        took_ms = (time.monotonic() - started) * 1000
        self._scene.note(f"the broker is back after {took_ms:.0f} ms, pid {self._broker.pid}")
        self._wait("records to flow again", lambda: self._scene.acked() > before + self._plan.rate // 4)
        processed = self._scene.processed()
        self._wait("the group to go on", lambda: self._scene.processed() > processed)
        self._scene.note(f"records flow again {time.monotonic() - started:.1f} s after the start")

    def _finish(self) -> None:
        for sender in self._scene.senders:
            sender.ask_to_finish()
        self._wait("the senders to finish", lambda: not any(sender.is_alive() for sender in self._scene.senders))
        for sender in self._scene.senders:
            if sender.wait(_PATIENCE_S) != 0 or sender.count("failed"):
                raise SomethingNeverHappened(f"{sender.name} could not deliver {sender.count('failed')} records")
        self._scene.note(f"the senders are done: {self._scene.acked():,} records acknowledged")
        # A loss would leave a lag that never goes: not waited for in vain, but left to the proof.
        self._wait_or_go_on(lambda: self._scene.lag() == 0)
        for member in self._scene.living_members():
            member.ask_to_finish()
        for member in self._scene.members:
            member.wait(_PATIENCE_S)
        self._scene.note("the members are done")

    def _are_read(self, partitions: list[int]) -> bool:
        owned = {partition for member in self._scene.living_members() for partition in member.assigned()}
        return set(partitions) <= owned

    def _in_flight(self) -> int:
        return sum(sender.count("sent") - sender.count("acked") for sender in self._scene.senders)

    def _watch(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._frame()

    def _wait(self, what: str, has_happened: Callable[[], bool]) -> None:
        if not self._wait_or_go_on(has_happened):
            raise SomethingNeverHappened(f"waited {_PATIENCE_S:.0f} s for {what}")

    def _wait_or_go_on(self, has_happened: Callable[[], bool]) -> bool:
        until = time.monotonic() + _PATIENCE_S
        while not has_happened():
            if time.monotonic() > until:
                return False
            self._frame()
        return True

    def _frame(self) -> None:
        self._view.refresh()
        time.sleep(_FRAME_S)


def _prove(directory: Path) -> Proof:
    return prove(read_acked(directory.glob("acked-*")), read_processed(directory.glob("processed-*")))


def _listed(partitions: list[int]) -> str:
    return ", ".join(map(str, partitions))
