"""What all clients of a run share: their spec, their history file, and when to stop."""

import os
import random
import sys
import threading
import time
from typing import Any, Final

import msgspec
from confluent_kafka import KafkaError, KafkaException, libversion

from barnabas.testing.checker.events import Client, Isolation
from barnabas.testing.checker.history import Recorder

# librdkafka's re-bootstrap, the default since 2.11, takes up to two seconds after every loss of a single broker, and
# may block send_offsets_to_transaction forever (confluentinc/librdkafka#5511).
_KNOWS_RECOVERY_SINCE: Final = 0x02080000
_NO_REBOOTSTRAP = {"metadata.recovery.strategy": "none"} if libversion()[1] >= _KNOWS_RECOVERY_SINCE else {}

# The broker is often down: reconnect quickly. `log_level` 0: librdkafka would log every lost connection.
COMMON: Final[dict[str, Any]] = {
    **_NO_REBOOTSTRAP,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 300,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 300,
    "log_level": 0,
}
FLUSH_SECONDS_MAX: Final = 60.0


class Spec(msgspec.Struct, kw_only=True):
    role: str
    name: str
    """The name of this process; its replacement gets another."""
    place: str
    """Shared by all processes in this slot, such as a transactional id."""
    incarnation: int
    seed: int
    bootstrap: str
    path: str
    topics: dict[str, int]
    """topic: number of partitions"""
    settings: dict[str, Any] = {}
    """Further settings of this role."""
    config: dict[str, Any] = {}
    """librdkafka settings, for security and the like."""


class Session:
    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.name = spec.name
        self.rng = random.Random(spec.seed)
        self.recorder = Recorder(spec.path, spec.name)
        self.note = self.recorder.note
        self.now = self.recorder.now
        self.partitions = [(topic, index) for topic, count in spec.topics.items() for index in range(count)]
        self.stopping = threading.Event()
        """Set when the runner closes our stdin, which also happens if it is killed."""
        self._values = 0

    def watch_stdin(self) -> None:
        def wait() -> None:
            # Not through sys.stdin: its lock must be free when a client ends by itself.
            while os.read(0, 1024):
                pass
            self.stopping.set()

        threading.Thread(target=wait, daemon=True).start()

    def introduce(self, isolation: Isolation = "read_committed", group: str = "", transactional_id: str = "") -> None:
        self.note(
            Client(t=self.now(), p=self.name, isolation=isolation, group=group, transactional_id=transactional_id)
        )

    def config(self, **own: Any) -> dict[str, Any]:
        """`own`: settings with underscores instead of dots."""
        named = {key.replace("_", "."): value for key, value in own.items()}
        return {
            **COMMON,
            "bootstrap.servers": self.spec.bootstrap,
            "client.id": self.name,
            "error_cb": report_unless_disconnected,
            **named,
            **self.spec.config,
        }

    def new_value(self) -> str:
        self._values += 1
        return f"{self.name}:{self._values}"


class Pace:
    """Limits a rate per second; catches up after pauses, by at most one second."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._allowed = 0.0
        self._looked = time.monotonic()

    def take(self, most: int) -> int:
        now = time.monotonic()
        self._allowed = min(self._allowed + (now - self._looked) * self._per_second, self._per_second)
        self._looked = now
        taken = min(int(self._allowed), most)
        self._allowed -= taken
        return taken


def report(error: object) -> None:
    """Write to this client's error file."""
    print(f"{time.monotonic():.3f} {error}", file=sys.stderr, flush=True)


def report_unless_disconnected(error: KafkaError) -> None:
    if error.code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT):
        report(error)


def error_of(failure: KafkaException) -> KafkaError:
    error: KafkaError = failure.args[0]
    return error


def partition_name(topic: str, index: int) -> str:
    return f"{topic}-{index}"
