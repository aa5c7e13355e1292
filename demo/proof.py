"""The proof: sent = counted + duplicates + late + dead letters, event by event, and the outputs are as expected.

Three things are compared: the sender's notes of acknowledged events and their places, the log as classified by
`classify`, and the outputs of the pipeline. Nothing else is used.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from demo.classify import Average, Logic, LogRecord, Minute, Place, Verdict, anomalies, averages
from demo.plan import TOPIC
from demo.telemetry import DUPLICATE, GOOD, LATE, MALFORMED, Device

Key = TypeVar("Key")

ROUNDED = 0.001
"""Averages are rounded to three digits; sums in another order may differ in the last one."""


class Note(NamedTuple):
    """What the sender recorded when the broker acknowledged an event."""

    id: str
    kind: str
    place: Place


class HistoryRow(NamedTuple):
    id: str
    place: Place
    group: str
    value: float


class DeadLetter(NamedTuple):
    topic: str
    place: Place
    value: bytes


@dataclass(frozen=True)
class Outputs:
    """Everything that a version of the pipeline has written, duplicates included."""

    history: Sequence[HistoryRow]
    averages: Sequence[tuple[Minute, Average]]
    anomalies: Sequence[str]
    dead_letters: Sequence[DeadLetter]


class Check(NamedTuple):
    """One comparison."""

    what: str
    expected: int
    found: int
    missing: int
    doubled: int
    wrong: int
    """Not expected, or different from what is expected."""

    def holds(self) -> bool:
        return self.expected == self.found and not (self.missing or self.doubled or self.wrong)


@dataclass(frozen=True)
class Proof:
    sent: int
    counted: int
    duplicates: int
    late: int
    dead: int
    checks: tuple[Check, ...]

    def holds(self) -> bool:
        adds_up = self.sent == self.counted + self.duplicates + self.late + self.dead
        return self.sent > 0 and adds_up and all(check.holds() for check in self.checks)

    def line(self) -> str:
        total = self.counted + self.duplicates + self.late + self.dead
        sign = "=" if self.sent == total else "≠"
        parts = f"{self.counted:,} + {self.duplicates:,} + {self.late:,} + {self.dead:,}"
        return f"sent {sign} counted + duplicates + late + dead letters: {self.sent:,} {sign} {parts}"

    def is_complete(self) -> bool:
        """Nothing is missing, although something else may be wrong."""
        return not any(check.missing for check in self.checks)


def prove(
    notes: Sequence[Note],
    log: Sequence[LogRecord],
    verdict: Verdict,
    outputs: Outputs,
    devices: Mapping[str, Device],
    logic: Logic,
) -> Proof:
    known = dict(devices)
    return Proof(
        sent=len(notes),
        counted=len(outputs.history),
        duplicates=len(verdict.duplicates),
        late=len(verdict.late),
        dead=len(outputs.dead_letters),
        checks=(
            _the_log(notes, log),
            _check_sender_kinds(notes, verdict),
            _history(verdict, outputs.history, known),
            _averages(averages(verdict, known, logic), outputs.averages),
            _ids("anomalies", anomalies(verdict, known, logic), outputs.anomalies),
            _dead_letters(log, verdict, outputs.dead_letters),
        ),
    )


def read_notes(path: Path) -> list[Note]:
    """Lines `id kind partition offset`."""
    notes = []
    for line in path.read_text().splitlines():
        id_, kind, partition, offset = line.split()
        notes.append(Note(id_, kind, (int(partition), int(offset))))
    return notes


def _the_log(notes: Sequence[Note], log: Sequence[LogRecord]) -> Check:
    """Every acknowledged event is at its acknowledged place, and nothing else is in the log."""
    expected = Counter((note.place, note.id) for note in notes)
    found = Counter((record.place, record.id) for record in log)
    return _compared("log", expected, found)


def _check_sender_kinds(notes: Sequence[Note], verdict: Verdict) -> Check:
    """Events that the sender made late, duplicate or malformed are classified as such."""
    duplicates = {note.place for note in notes if note.kind == DUPLICATE}
    expected = Counter((note.kind, note.id) for note in notes)
    found = Counter((GOOD, id_) for id_ in verdict.counted)
    found.update((DUPLICATE, id_) for id_ in verdict.duplicates.values())
    found.update((LATE, id_) for id_ in verdict.late.values())
    found.update((MALFORMED, id_) for id_ in verdict.dead.values())
    misplaced = len(duplicates ^ set(verdict.duplicates))
    check = _compared("kinds", expected, found)
    return check._replace(wrong=check.wrong + misplaced)


def _history(verdict: Verdict, rows: Sequence[HistoryRow], devices: dict[str, Device]) -> Check:
    check = _ids("history", set(verdict.counted), [row.id for row in rows])
    wrong = 0
    for row in rows:
        reading = verdict.counted.get(row.id)
        if reading is None:
            continue  # already counted as wrong
        group = devices[reading.device].group
        wrong += row.place not in verdict.places[row.id] or (row.group, row.value) != (group, reading.value)
    return check._replace(wrong=check.wrong + wrong)


def _averages(expected: Mapping[Minute, Average], rows: Sequence[tuple[Minute, Average]]) -> Check:
    """Counts readings, not rows: the events in windows that have ended."""
    seen = Counter(minute for minute, _ in rows)
    wrong = sum(
        minute not in expected
        or average.readings != expected[minute].readings
        or not _close(average.average, expected[minute].average)
        for minute, average in rows
    )
    return Check(
        "averages",
        expected=sum(average.readings for average in expected.values()),
        found=sum(average.readings for _, average in rows),
        missing=len(expected.keys() - seen.keys()),
        doubled=sum(count - 1 for count in seen.values()),
        wrong=wrong,
    )


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= ROUNDED


def _ids(what: str, expected: set[str], found: Iterable[str]) -> Check:
    return _compared(what, Counter(expected), Counter(found))


def _dead_letters(log: Sequence[LogRecord], verdict: Verdict, letters: Sequence[DeadLetter]) -> Check:
    """Each belongs to one record of the log, and has the bytes of that record."""
    values = {record.place: record.value for record in log if record.place in verdict.dead}
    expected = Counter((TOPIC, place, value) for place, value in values.items())
    found = Counter((letter.topic, letter.place, letter.value) for letter in letters)
    return _compared("dead letters", expected, found)


def _compared(what: str, expected: Counter[Key], found: Counter[Key]) -> Check:
    """`expected` has each once."""
    return Check(
        what,
        expected=expected.total(),
        found=found.total(),
        missing=(expected - found).total(),
        doubled=sum(count - expected[key] for key, count in found.items() if key in expected and count > expected[key]),
        wrong=sum(count for key, count in found.items() if key not in expected),
    )
