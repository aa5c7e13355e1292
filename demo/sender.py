"""Sends the telemetry at a steady rate, and notes every acknowledgement in a file.

Run as `python -m demo.sender SERVERS FILE START_MS [--seed=... and the rest of the plan]`.

Simulated time advances only as events are acknowledged: a tick is sent when all ticks but the last are acknowledged. So
partitions are never further apart than three ticks, even if the broker was down, and a row that is not late by its
timestamp is never behind the watermark.
"""

import sys
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TextIO

from confluent_kafka import KafkaError, Message, Producer

from demo.plan import TOPIC, Plan
from demo.reporting import end_of_stdin, report
from demo.telemetry import Event, closing, events

TICK_S = 0.05
CATCH_UP_S = 1.0
"""After the broker was down, at most this much time is caught up."""
REPORT_EVERY_S = 0.25
ID_HEADER = "id"
"""Identifies an event even if its value is unreadable."""


class Sender:
    def __init__(self, servers: str, notes: TextIO) -> None:
        self.sent = 0
        self.acked = 0
        self.failed = 0
        self.now_ms = 0
        self._notes = notes
        self._last_report = 0.0
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "client.id": "demo-sender",
                "enable.idempotence": True,
                "linger.ms": 5,
                "partitioner": "murmur2_random",
                "message.timeout.ms": 300_000,  # no events are lost while the broker is down for a while
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    def send(self, batch: Iterable[Event]) -> None:
        for event in batch:
            note = f"{event.id} {event.kind}"
            self._producer.produce(
                TOPIC,
                event.value,
                event.device,
                timestamp=event.timestamp_ms,
                headers=[(ID_HEADER, event.id.encode())],
                on_delivery=lambda error, message, note=note: self._on_delivery(error, message, note),
            )
            self.sent += 1
            self.now_ms = event.timestamp_ms

    def wait_for(self, acked: int) -> None:
        """Wait until this many are acknowledged (or failed, which ends the demo)."""
        self._producer.poll(0)
        self.report_progress()
        while self.acked + self.failed < acked:
            self._producer.poll(0.02)
            self.report_progress()

    def report_progress(self, *, now: bool = False) -> None:
        if now or time.monotonic() - self._last_report >= REPORT_EVERY_S:
            self._last_report = time.monotonic()
            self._notes.flush()
            report(sent=self.sent, acked=self.acked, failed=self.failed, now_ms=self.now_ms)

    def _on_delivery(self, error: KafkaError | None, message: Message, note: str) -> None:
        if error is not None:
            self.failed += 1
            return
        self._notes.write(f"{note} {message.partition()} {message.offset()}\n")
        self.acked += 1


def main() -> None:
    servers, path, start_ms, *rest = sys.argv[1:]
    plan = Plan.from_arguments(rest)
    ended = end_of_stdin()
    coming = events(plan, int(start_ms))
    per_tick = max(1, round(plan.rate * TICK_S))
    with Path(path).open("w") as notes:
        sender = Sender(servers, notes)
        last = 0
        due = time.monotonic()
        while not ended.is_set() and (batch := list(islice(coming, per_tick))):
            before = sender.sent
            sender.send(batch)
            sender.wait_for(last)
            last = before
            due = max(due + TICK_S, time.monotonic() - CATCH_UP_S)
            time.sleep(max(0.0, due - time.monotonic()))
        sender.wait_for(sender.sent)
        sender.send(closing(plan, int(start_ms)))
        sender.wait_for(sender.sent)
        sender.report_progress(now=True)
    sys.exit(1 if sender.failed else 0)


if __name__ == "__main__":
    main()
