"""Injects faults at random, by a seed: kills and pauses the broker and the clients."""

import time
from collections import Counter
from random import Random
from typing import Final

from barnabas.testing.checker.events import Fault
from barnabas.testing.checker.history import Recorder
from barnabas.testing.checker.stage import Slot, Stage
from barnabas.testing.checker.target import OtherCluster, OwnBroker

_WEIGHTS: Final = {"kill-broker": 4, "pause-broker": 2, "kill-client": 3, "pause-client": 3}
_REST_SECONDS: Final = (0.1, 2.5)
_SHORT_PAUSE_SECONDS: Final = (0.05, 2.0)
# Longer than the clients' session and transaction timeouts (6 s).
_LONG_PAUSE_SECONDS: Final = (6.0, 9.0)
_LONG_PAUSES_OF_TEN: Final = 1
_KILLS_AT_START_OF_TEN: Final = 2


class Nemesis:
    def __init__(
        self, rng: Random, stage: Stage, target: OwnBroker | OtherCluster, recorder: Recorder, faults: tuple[str, ...]
    ) -> None:
        self.done: Counter[str] = Counter()
        self._rng = rng
        self._stage = stage
        self._target = target
        self._recorder = recorder
        own = isinstance(target, OwnBroker)
        self._faults = [fault for fault in faults if own or not fault.endswith("-broker")]
        self._next_at = time.monotonic() + rng.uniform(*_REST_SECONDS)

    def act_if_due(self) -> None:
        if not self._faults or time.monotonic() < self._next_at:
            return
        fault = self._rng.choices(self._faults, [_WEIGHTS[each] for each in self._faults])[0]
        match fault:
            case "kill-broker":
                self._kill_broker()
            case "pause-broker":
                self._pause_broker()
            case _:
                self._fault_client(fault)
        self._next_at = time.monotonic() + self._rng.uniform(*_REST_SECONDS)

    def _kill_broker(self) -> None:
        assert isinstance(self._target, OwnBroker)
        self._note("kill", "broker")
        self._target.kill()
        time.sleep(self._rng.choice((0.0, 0.0, self._rng.uniform(0, 1.5))))
        if self._rng.randrange(10) < _KILLS_AT_START_OF_TEN:
            self._note("kill", "broker")
            self._target.kill_while_it_starts(self._rng.uniform(0.05, 0.4))
        self._target.start()
        self._note("start", "broker")

    def _pause_broker(self) -> None:
        assert isinstance(self._target, OwnBroker)
        self._note("pause", "broker")
        self._target.pause()
        time.sleep(self._pause_seconds())
        self._target.resume()
        self._note("resume", "broker")

    def _fault_client(self, fault: str) -> None:
        slot = self._pick()
        if slot is None:
            return
        if fault == "kill-client":
            self._note("kill", slot.name)
            self._stage.kill(slot)
        else:
            self._note("pause", slot.name)
            self._stage.pause(slot, self._pause_seconds())

    def _pick(self) -> Slot | None:
        alive = [slot for slot in self._stage.slots if slot.is_alive() and slot.resume_at is None]
        return self._rng.choice(alive) if alive else None

    def _pause_seconds(self) -> float:
        is_long = self._rng.randrange(10) < _LONG_PAUSES_OF_TEN
        return self._rng.uniform(*(_LONG_PAUSE_SECONDS if is_long else _SHORT_PAUSE_SECONDS))

    def _note(self, action: str, target: str) -> None:
        self.done[f"{action} {'broker' if target == 'broker' else 'client'}"] += 1
        self._recorder.note(Fault(t=self._recorder.now(), p="nemesis", action=action, target=target))
