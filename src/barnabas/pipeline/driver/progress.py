"""The progress that Spark reports after each batch, added up over a run: rows, rates, watermark, state, drops."""

from dataclasses import dataclass, field
from typing import Any

from barnabas.pipeline.flow.metrics import Counts, counts_of


@dataclass
class RunProgress:
    """Of one flow since the run began, across restarts. A batch that is repeated counts twice."""

    batch_id: int | None = None
    finished_at: float | None = None
    input_rows: int = 0
    output_rows: int | None = None
    input_rows_per_s: float | None = None
    output_rows_per_s: float | None = None
    watermark: str | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    behind_watermark: int = 0
    counts: dict[str, Counts] = field(default_factory=dict)
    """By the name of the source or flow that was counted."""

    def add(self, progress: dict[str, Any], now: float) -> None:
        """One batch: a `StreamingQueryProgress` as JSON has it."""
        self.batch_id = int(progress["batchId"])
        self.finished_at = now
        rows = int(progress.get("numInputRows") or 0)
        self.input_rows += rows
        self.input_rows_per_s = progress.get("inputRowsPerSecond")
        self._add_output(progress)
        self.watermark = (progress.get("eventTime") or {}).get("watermark") or self.watermark
        operators = progress.get("stateOperators") or ()
        if operators:
            self.state_rows = sum(int(each.get("numRowsTotal") or 0) for each in operators)
            self.state_bytes = sum(int(each.get("memoryUsedBytes") or 0) for each in operators)
            self.behind_watermark += sum(int(each.get("numRowsDroppedByWatermark") or 0) for each in operators)
        for name, observed in (progress.get("observedMetrics") or {}).items():
            self.counts[name] = self.counts.get(name, Counts()) + counts_of(observed)

    def _add_output(self, progress: dict[str, Any]) -> None:
        rows = int((progress.get("sink") or {}).get("numOutputRows", -1))
        seconds = int(progress.get("batchDuration") or 0) / 1000
        if rows >= 0:  # not every sink reports it
            self.output_rows = (self.output_rows or 0) + rows
            self.output_rows_per_s = rows / seconds if seconds else None

    def clear_rates(self) -> None:
        """No rows arrive at the moment."""
        self.input_rows_per_s = 0.0 if self.input_rows_per_s is not None else None
        self.output_rows_per_s = 0.0 if self.output_rows_per_s is not None else None

    def total(self) -> Counts:
        """Over all sources and flows of the query."""
        return sum(self.counts.values(), Counts())

    def broken_rules(self) -> dict[str, int]:
        return {
            f"{name}.{rule}": count
            for name, counts in self.counts.items()
            for rule, count in counts.rules.items()
            if count
        }
