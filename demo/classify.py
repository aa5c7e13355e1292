"""Computes in plain Python, from the log alone, what must happen to every event.

The same rules are in demo/project/pipeline.yaml, for Spark. Here they are implemented a second time, without Spark, so
that the two can be compared event by event.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from demo.plan import LATE_AFTER_MS, WATERMARK_DELAY_MS, WINDOW_MS
from demo.telemetry import Device

PLAUSIBLE = (-50.0, 150.0)

Place = tuple[int, int]
"""A partition and an offset."""


class LogRecord(NamedTuple):
    place: Place
    timestamp_ms: int
    id: str
    """From the header, which every event has, even a malformed one."""
    value: bytes


class Reading(NamedTuple):
    id: str
    device: str
    at_ms: int
    value: float


@dataclass
class Verdict:
    """Each record of the log is in exactly one of the four groups."""

    counted: dict[str, Reading] = field(default_factory=dict)
    places: dict[str, set[Place]] = field(default_factory=dict)
    """For counted events: their places in the log. Which of several Spark uses is up to Spark."""
    duplicates: dict[Place, str] = field(default_factory=dict)
    late: dict[Place, str] = field(default_factory=dict)
    dead: dict[Place, str] = field(default_factory=dict)
    times_ms: dict[str, list[int]] = field(default_factory=dict)
    """When the records of each class reached the log, for the chart."""

    @property
    def records(self) -> int:
        return len(self.counted) + len(self.duplicates) + len(self.late) + len(self.dead)

    def watermark_ms(self) -> int:
        """The watermark after everything has been read."""
        return max(reading.at_ms for reading in self.counted.values()) - WATERMARK_DELAY_MS


class Minute(NamedTuple):
    """A key of the averages."""

    group: str
    start_ms: int


class Average(NamedTuple):
    readings: int
    average: float | None


def classify(log: Iterable[LogRecord]) -> Verdict:
    """`log`: each partition in the order of its offsets. An event and its duplicate are in the same partition."""
    verdict = Verdict()
    for record in log:
        reading = readable(record.value)
        if reading is None:
            verdict.dead[record.place] = record.id
            kind = "dead letters"
        elif record.timestamp_ms - reading.at_ms > LATE_AFTER_MS:
            verdict.late[record.place] = record.id
            kind = "late"
        elif reading.id in verdict.counted:
            verdict.duplicates[record.place] = record.id
            verdict.places[reading.id].add(record.place)
            kind = "duplicates"
        else:
            verdict.counted[reading.id] = reading
            verdict.places[reading.id] = {record.place}
            kind = "counted"
        verdict.times_ms.setdefault(kind, []).append(record.timestamp_ms)
    return verdict


def readable(value: bytes) -> Reading | None:
    """None: it does not match the schema or breaks a rule, and is a dead letter."""
    try:
        fields: Any = json.loads(value)
        at_ms = round(datetime.fromisoformat(fields["at"]).timestamp() * 1000)
    except (ValueError, KeyError, TypeError):
        return None
    id_, device, number = fields.get("id"), fields.get("device"), fields.get("value")
    if not isinstance(id_, str) or not isinstance(device, str) or not isinstance(number, int | float):
        return None
    low, high = PLAUSIBLE
    return Reading(id_, device, at_ms, float(number)) if low <= number <= high else None


class Logic(NamedTuple):
    """What differs between the versions of the project."""

    tolerance: float
    """A reading that differs more than this from the usual value is an anomaly."""
    averages_without: float | None
    """Readings that differ more than this from the usual value are left out of averages; None: none are."""


V1 = Logic(tolerance=15.0, averages_without=None)
V2 = Logic(tolerance=10.0, averages_without=10.0)


def anomalies(verdict: Verdict, devices: dict[str, Device], logic: Logic) -> set[str]:
    return {
        reading.id
        for reading in verdict.counted.values()
        if abs(reading.value - devices[reading.device].usual) > logic.tolerance
    }


def averages(verdict: Verdict, devices: dict[str, Device], logic: Logic) -> dict[Minute, Average]:
    """The averages of the windows that have ended."""
    over_ms = verdict.watermark_ms()
    found: dict[Minute, list[Reading]] = {}
    for reading in verdict.counted.values():
        start_ms = reading.at_ms - reading.at_ms % WINDOW_MS
        if start_ms + WINDOW_MS <= over_ms:
            found.setdefault(Minute(devices[reading.device].group, start_ms), []).append(reading)
    return {minute: _average(readings, devices, logic) for minute, readings in found.items()}


def _average(readings: list[Reading], devices: dict[str, Device], logic: Logic) -> Average:
    left = [
        reading.value
        for reading in readings
        if logic.averages_without is None
        or abs(reading.value - devices[reading.device].usual) <= logic.averages_without
    ]
    return Average(len(readings), sum(left) / len(left) if left else None)
