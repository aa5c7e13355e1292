"""Generates telemetry: events of devices in the order of the log, the same ones for the same seed.

Time is simulated. The timestamp of a record is when it reached the log, the time in its event is when it happened, up
to ten seconds earlier. Some events are faulty:

    duplicate   sent again some seconds later: the same id, the same content
    late        happened more than 30 seconds before it arrives
    malformed   cut off, of a wrong type, without a device, or with an impossible value
"""

import heapq
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

from demo.plan import LATE_AFTER_MS, WATERMARK_DELAY_MS, WINDOW_MS, Plan

TRAVEL_MS_MAX = 10_000
RESEND_MS = (1_000, 15_000)
LATE_MS = (LATE_AFTER_MS + 1, 8 * LATE_AFTER_MS)

GOOD, DUPLICATE, LATE, MALFORMED = "good", "duplicate", "late", "malformed"


class Event(NamedTuple):
    id: str
    kind: str
    """The kind that the sender intended. The proof uses it only to check its own classification."""
    device: str
    value: bytes
    timestamp_ms: int


class Device(NamedTuple):
    name: str
    group: str
    usual: float
    """The usual temperature of the group."""


def devices_of(plan: Plan) -> list[Device]:
    return [_device(number, plan.groups) for number in range(plan.devices)]


def events(plan: Plan, start_ms: int) -> Iterator[Event]:
    """All events except the last ones (`closing`)."""
    random = Random(plan.seed)
    devices = devices_of(plan)
    again: list[tuple[int, int, Event]] = []
    step_ms = 1000 * plan.speed / plan.rate
    for number in range(round(plan.rate * plan.seconds)):
        now_ms = start_ms + round(number * step_ms)
        if again and again[0][0] <= now_ms:
            yield heapq.heappop(again)[2]._replace(kind=DUPLICATE, timestamp_ms=now_ms)
            continue
        travel_ms = min(random.randint(0, TRAVEL_MS_MAX), now_ms - start_ms)
        event = _event(random, plan, f"{plan.seed}-{number}", random.choice(devices), now_ms, travel_ms)
        if event.kind == GOOD and random.random() < plan.duplicates:
            heapq.heappush(again, (now_ms + random.randint(*RESEND_MS), number, event))
        yield event


def closing(plan: Plan, start_ms: int) -> list[Event]:
    """Events some minutes later, sent last: they advance the watermark past the end of all windows."""
    end_ms = start_ms + round(plan.seconds * plan.speed * 1000)
    now_ms = end_ms + 2 * WINDOW_MS + WATERMARK_DELAY_MS
    devices = devices_of(plan)
    return [
        Event(
            f"{plan.seed}-closing-{number}",
            GOOD,
            device.name,
            _text(f"{plan.seed}-closing-{number}", device, now_ms, device.usual),
            now_ms,
        )
        for number, device in enumerate(devices[: plan.groups])
    ]


def _device(number: int, groups: int) -> Device:
    group = number % groups
    return Device(f"d{number:05}", f"hall-{group + 1:02}", 16.0 + 1.5 * group)


def _event(random: Random, plan: Plan, id_: str, device: Device, now_ms: int, travel_ms: int) -> Event:
    chance = random.random()
    value = _temperature(random, device, now_ms - travel_ms)
    if chance < plan.malformed:
        return Event(id_, MALFORMED, device.name, _malformed(random, id_, device, now_ms - travel_ms, value), now_ms)
    if chance < plan.malformed + plan.late:
        happened_ms = now_ms - random.randint(*LATE_MS)
        return Event(id_, LATE, device.name, _text(id_, device, happened_ms, value), now_ms)
    if random.random() < plan.anomalies:
        value += random.choice((-1, 1)) * random.uniform(8.0, 30.0)
    return Event(id_, GOOD, device.name, _text(id_, device, now_ms - travel_ms, value), now_ms)


def _temperature(random: Random, device: Device, at_ms: int) -> float:
    """A slow wave, different for each hall, plus noise."""
    wave = math.sin(2 * math.pi * at_ms / (20 * WINDOW_MS) + device.usual)
    return device.usual + 2.0 * wave + random.gauss(0.0, 0.6)


def _text(id_: str, device: Device, at_ms: int, value: float) -> bytes:
    return json.dumps({"id": id_, "device": device.name, "at": iso(at_ms), "value": round(value, 2)}).encode()


def _malformed(random: Random, id_: str, device: Device, at_ms: int, value: float) -> bytes:
    good = {"id": id_, "device": device.name, "at": iso(at_ms), "value": round(value, 2)}
    kind = random.randrange(5)
    if kind == 0:
        text = json.dumps(good)
        return text[: random.randint(1, len(text) - 1)].encode()
    bad = ({"value": "n/a"}, {"at": "yesterday"}, {"device": None}, {"value": 9999.0})[kind - 1]
    return json.dumps({**good, **bad}).encode()


def iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
