"""Generates a history of any number of events, in the order of time, each from its number alone.

So the expected result of each is known without storing it: of every thousand one is malformed, two are late, two are
duplicates.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from confluent_kafka import Producer

from demo.large.progress import Progress
from demo.plan import LATE_AFTER_MS, TOPIC, WINDOW_MS
from demo.telemetry import Device

STEP_MS: Final = 4
"""Between two events: 20 million of them are 22 hours."""
PREFIX: Final = "h-"
_MALFORMED, _LATE, _AGAIN, _ORIGINAL = 7, 3, 5, 1
_FLUSH_S: Final = 300.0
_POLL_EVERY: Final = 2_000


def counted_numbers(count: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """The numbers of the events that must be counted, each once."""
    numbers = np.arange(count, dtype=np.int64)
    left_out = (numbers % 1000 == _MALFORMED) | (numbers % 500 == _LATE) | (numbers % 500 == _AGAIN)
    counted: np.ndarray[Any, np.dtype[np.int64]] = numbers[~left_out]
    return counted


def malformed(count: int) -> int:
    return int(np.count_nonzero(np.arange(count, dtype=np.int64) % 1000 == _MALFORMED))


def send(servers: str, devices: list[Device], count: int, end_ms: int) -> None:
    """The last one happened just before `end_ms`."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "client.id": "demo-history",
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.size": 500_000,
            "compression.type": "lz4",
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": 500_000,
            "log_level": 0,
        }
    )
    with Progress("writing history", count) as progress:
        for number, (device, value, at_ms) in enumerate(_events(devices, count, end_ms)):
            _produce(producer, value, device, at_ms)
            if number % _POLL_EVERY == 0:
                producer.poll(0)
                progress.at(number)
        if producer.flush(_FLUSH_S):
            raise TimeoutError(f"the broker did not accept the whole history in {_FLUSH_S:.0f} s")


def _produce(producer: Producer, value: bytes, device: str, at_ms: int) -> None:
    while True:
        try:
            producer.produce(TOPIC, value, device, timestamp=at_ms)
        except BufferError:
            producer.poll(0.05)
        else:
            return


def _events(devices: list[Device], count: int, end_ms: int) -> Iterator[tuple[str, bytes, int]]:
    """Device, value, and the record's timestamp."""
    start_ms = end_ms - count * STEP_MS
    clock = _Clock()
    for number in range(count):
        now_ms = start_ms + number * STEP_MS
        kind = number % 500
        # A duplicate: the same event as a moment ago.
        original = number - _AGAIN + _ORIGINAL if kind == _AGAIN else number
        device = devices[original * 7919 % len(devices)]
        at_ms = start_ms + original * STEP_MS - original * 37 % 9_000
        if kind == _LATE:
            at_ms -= 2 * LATE_AFTER_MS
        wave = math.sin(2 * math.pi * at_ms / (20 * WINDOW_MS) + device.usual)
        degrees = device.usual + 2.0 * wave + (20.0 if original % 250 == 9 else 0.0)
        text = (
            f'{{"id":"{PREFIX}{original}","device":"{device.name}","at":"{clock.text(at_ms)}","value":{degrees:.2f}}}'
        )
        value = text[: 9 + number % 40] if number % 1000 == _MALFORMED else text
        yield device.name, value.encode(), now_ms


class _Clock:
    """Times as text; caches the text of the current second."""

    def __init__(self) -> None:
        self._seconds: dict[int, str] = {}

    def text(self, at_ms: int) -> str:
        second, rest = divmod(at_ms, 1000)
        known = self._seconds.get(second)
        if known is None:
            if len(self._seconds) > 10_000:
                self._seconds.clear()
            known = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._seconds[second] = known
        return f"{known}.{rest:03}Z"
