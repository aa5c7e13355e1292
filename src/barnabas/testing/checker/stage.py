"""The client processes of a run: starts, kills, pauses and replaces them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from barnabas.testing.checker.clients.session import Spec
from barnabas.testing.checker.workloads import Actor, Workload

STOP_SECONDS_MAX: Final = 120.0
RETURN_SECONDS_MAX: Final = 2.0
"""The longest time before an ended client is replaced."""


class Slot:
    """A slot of the workload, and the client in it."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.incarnation = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.return_at = 0.0
        self.resume_at: float | None = None

    @property
    def name(self) -> str:
        return f"{self.actor.place}.{self.incarnation}"

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Stage:
    def __init__(
        self, workload: Workload, *, bootstrap: str, config: dict[str, Any], directory: Path, rng: Random
    ) -> None:
        self.slots = [Slot(actor) for actor in workload.actors]
        self.failures: list[str] = []
        """Clients that failed: defects of this program, not of the broker."""
        self._workload = workload
        self._bootstrap = bootstrap
        self._config = config
        self._directory = directory
        self._rng = rng

    def fill(self) -> None:
        """Start and resume clients that are due."""
        now = time.monotonic()
        for slot in self.slots:
            if slot.resume_at is not None and now >= slot.resume_at:
                self.resume(slot)
            if not slot.is_alive() and now >= slot.return_at:
                self._clear(slot)
                self._start(slot)

    def kill(self, slot: Slot) -> None:
        assert slot.process is not None
        slot.process.kill()
        slot.process.wait()
        slot.resume_at = None
        slot.return_at = time.monotonic() + self._rng.uniform(0, RETURN_SECONDS_MAX)

    def pause(self, slot: Slot, seconds: float) -> None:
        assert slot.process is not None
        slot.process.send_signal(signal.SIGSTOP)
        slot.resume_at = time.monotonic() + seconds

    def resume(self, slot: Slot) -> None:
        slot.resume_at = None
        if slot.process is not None and slot.process.poll() is None:
            slot.process.send_signal(signal.SIGCONT)

    def stop(self, slots: list[Slot]) -> None:
        """Let them finish."""
        for slot in slots:
            self.resume(slot)
            if slot.process is not None and slot.process.stdin is not None:
                slot.process.stdin.close()
        deadline = time.monotonic() + STOP_SECONDS_MAX
        for slot in slots:
            if slot.process is None:
                continue
            try:
                slot.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.failures.append(f"{slot.name} did not stop within {STOP_SECONDS_MAX:.0f} s")
                self.kill(slot)
            self._clear(slot)
            slot.return_at = float("inf")

    def kill_all(self) -> None:
        for slot in self.slots:
            if slot.is_alive():
                self.kill(slot)

    def histories(self) -> list[Path]:
        return sorted(self._directory.glob("*.jsonl.part"))

    def _start(self, slot: Slot) -> None:
        slot.incarnation += 1
        actor = slot.actor
        spec = Spec(
            role=actor.role,
            name=slot.name,
            place=actor.place,
            incarnation=slot.incarnation,
            seed=self._rng.getrandbits(32),
            bootstrap=self._bootstrap,
            path=str(self._directory / f"{slot.name}.jsonl.part"),
            topics={topic: self._workload.partitions[topic] for topic in actor.topics},
            settings=actor.settings,
            config=self._config,
        )
        with open(self._directory / f"{slot.name}.stderr", "wb") as stderr:
            # In its own session: Ctrl-C is for the runner, which then lets all clients finish.
            slot.process = subprocess.Popen(
                [sys.executable, "-m", "barnabas.testing.checker.clients", msgspec.json.encode(spec)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def _clear(self, slot: Slot) -> None:
        if slot.process is None:
            return
        status = slot.process.poll()
        if status not in (0, -signal.SIGKILL):
            words = (self._directory / f"{slot.name}.stderr").read_text(errors="replace").strip().splitlines()[-3:]
            self.failures.append(f"{slot.name} ended with status {status}: {' | '.join(words)}")
        if slot.process.stdin is not None:
            slot.process.stdin.close()
        slot.process = None
