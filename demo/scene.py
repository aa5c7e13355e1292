"""The state of the demo that is shown: the sender, the flows, the latest outputs, and the events so far."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer

from barnabas.pipeline import status as statuses
from barnabas.pipeline.location import state_folder
from barnabas.pipeline.status import Status
from demo.classify import Average, Minute
from demo.outputs import as_average
from demo.plan import ANOMALIES, AVERAGES, DEAD_LETTERS, Plan

if TYPE_CHECKING:
    from demo.actors import SenderProcess


@dataclass(slots=True)
class Scene:
    plan: Plan
    states: Path
    """The project's folder of versions."""
    phase: str = "starting"
    version: str = "v1"
    """The version that is running, or ran last."""
    sender: "SenderProcess | None" = None
    tail: "Tail | None" = None
    events: list[tuple[float, str]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    printed_count: int = 0
    """How many events have been printed."""

    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    def note(self, event: str) -> None:
        self.events.append((self.elapsed_s(), event))

    def news(self) -> list[str]:
        """Events that have not been printed."""
        fresh, self.printed_count = self.events[self.printed_count :], len(self.events)
        return [f"{when:5.1f}s  {event}" for when, event in fresh]

    def status(self) -> Status | None:
        """As the pipeline reports it: for the screen, not for the proof."""
        return statuses.read(state_folder(self.states, self.version))


class Tail:
    """Reads the outputs of v1 for the screen, with a consumer."""

    def __init__(self, servers: str) -> None:
        self.counts: Counter[str] = Counter()
        self.averages: dict[Minute, Average] = {}
        self._over = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "demo-screen",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 1000,  # the output topics are created meanwhile
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([AVERAGES, ANOMALIES, DEAD_LETTERS])
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def groups(self) -> dict[str, list[tuple[int, float]]]:
        """The averages of each group in the order of time."""
        found: dict[str, list[tuple[int, float]]] = {}
        for minute, average in sorted(self.averages.copy().items()):
            if average.average is not None:
                found.setdefault(minute.group, []).append((minute.start_ms, average.average))
        return found

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._consumer.close()

    def _follow(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(500, timeout=0.2):
                if message.error() is not None:  # the topic does not exist yet, or the broker is unreachable
                    continue
                self.counts[message.topic()] += 1
                if message.topic() == AVERAGES:
                    minute, average = as_average(message.value())
                    self.averages[minute] = average
