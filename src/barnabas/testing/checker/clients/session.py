"""What all clients of a run have in common: what they are to do, where they note it, and when they are to stop."""

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

# librdkafka's re-bootstrap, its default since 2.11, costs up to two seconds after every loss of a single broker, as it
# goes by one-second timers, and may hang send_offsets_to_transaction for ever (confluentinc/librdkafka#5511).
_KNOWS_RECOVERY_SINCE: Final = 0x02080000
_NO_REBOOTSTRAP = {"metadata.recovery.strategy": "none"} if libversion()[1] >= _KNOWS_RECOVERY_SINCE else {}

# The broker is away often: come back to it quickly. `log_level` 0: librdkafka tells of every lost connection.
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
    """Of this process: a later one in the same place has another."""
    place: str
    """Of all processes that follow each other here, such as a transactional id."""
    incarnation: int
    seed: int
    bootstrap: str
    path: str
    topics: dict[str, int]
    """topic: number of partitions"""
    settings: dict[str, Any] = {}
    """What this role needs beyond that."""
    config: dict[str, Any] = {}
    """librdkafka's, for security and the like."""


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
        """Set when whoever started us closes our stdin: nobody is left behind, even if that one is killed."""
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
        """`own` with underscores for dots."""
        named = {key.replace("_", "."): value for key, value in own.items()}
        return {
            **COMMON,
            "bootstrap.servers": self.spec.bootstrap,
            "client.id": self.name,
            "error_cb": complain_of_more_than_absence,
            **named,
            **self.spec.config,
        }

    def new_value(self) -> str:
        self._values += 1
        return f"{self.name}:{self._values}"


class Pace:
    """So many a second, with rests made up for, up to a second's worth."""

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


def complain(error: object) -> None:
    """To the file where this client's complaints are kept."""
    print(f"{time.monotonic():.3f} {error}", file=sys.stderr, flush=True)


def complain_of_more_than_absence(error: KafkaError) -> None:
    if error.code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT):
        complain(error)


def error_of(failure: KafkaException) -> KafkaError:
    error: KafkaError = failure.args[0]
    return error


def partition_name(topic: str, index: int) -> str:
    return f"{topic}-{index}"
