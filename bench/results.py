"""Results: a table of measures, each with the values of every round and server. The result is their median."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any, Self


class Better(StrEnum):
    MORE = "more"
    LESS = "less"


@dataclass(frozen=True, slots=True)
class Measure:
    benchmark: str
    name: str
    unit: str
    better: Better
    target: float | None = None
    """The target for the ratio to Apache Kafka: at least this if more is better, at most this if less is."""
    ceiling: float | None = None
    """The largest allowed value."""


@dataclass(slots=True)
class Results:
    machine: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Remarks for readers of the figures: calibrations, the worst case, what could not be measured."""
    values: dict[Measure, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, measure: Measure, server: str, value: float) -> None:
        self.values.setdefault(measure, {}).setdefault(server, []).append(value)

    def value(self, measure: Measure, server: str) -> float | None:
        found = self.values[measure].get(server)
        return median(found) if found else None

    def ratio(self, measure: Measure) -> float | None:
        """Barnabas over Apache Kafka: the median of the rounds' ratios.

        The two servers of a round run one after the other; from round to round the machine may be slower for both.
        """
        rounds = self.ratios(measure)
        return median(rounds) if rounds else None

    def ratios(self, measure: Measure) -> list[float]:
        ours, theirs = (self.values[measure].get(server, []) for server in ("barnabas", "kafka"))
        return [mine / other for mine, other in zip(ours, theirs, strict=False) if other]

    def meets_target(self, measure: Measure) -> bool | None:
        """Whether the measure meets its target; None if it has none, or if there is no value."""
        if measure.ceiling is not None:
            value = self.value(measure, "barnabas")
            return None if value is None else value <= measure.ceiling
        ratio = self.ratio(measure)
        if measure.target is None or ratio is None:
            return None
        return ratio >= measure.target if measure.better is Better.MORE else ratio <= measure.target

    def to_json(self) -> dict[str, Any]:
        rows = [
            {
                "benchmark": measure.benchmark,
                "name": measure.name,
                "unit": measure.unit,
                "better": measure.better.value,
                "target": measure.target,
                "ceiling": measure.ceiling,
                "ratio": self.ratio(measure),
                "meets_target": self.meets_target(measure),
                "values": values,
            }
            for measure, values in self.values.items()
        ]
        return {"machine": self.machine, "notes": self.notes, "measures": rows}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        results = cls(machine=dict(stored["machine"]), notes=list(stored["notes"]))
        for row in stored["measures"]:
            measure = Measure(
                row["benchmark"], row["name"], row["unit"], Better(row["better"]), row["target"], row["ceiling"]
            )
            results.values[measure] = {server: list(values) for server, values in row["values"].items()}
        return results

    def replace(self, newer: "Results") -> None:
        """Replace the results of all benchmarks that are in the newer run."""
        names = {measure.benchmark for measure in newer.values}
        self.values = {measure: values for measure, values in self.values.items() if measure.benchmark not in names}
        self.values |= newer.values
        self.notes = [note for note in self.notes if note.split(":")[0] not in names]
        self.notes += [note for note in newer.notes if note not in self.notes]
        self.machine |= newer.machine
