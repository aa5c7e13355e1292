"""Parses what Spark reports about a finished batch: the offsets of a query in its topics.

Spark shows offsets of a Python source as the JSON that the source gave it: `{"orders": {"0": 42}}`. Entries whose names
begin with "$" are the source's own; no topic has such a name. The first batch has no start offset in progress.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Partition = tuple[str, int]
Offsets = Mapping[Partition, int]

_NOTE = "$"


@dataclass(frozen=True, slots=True)
class SourceProgress:
    start: Offsets
    """Empty in the first batch: Spark does not show where it began."""
    end: Offsets
    latest: Offsets
    input_rows: int


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One finished trigger, with a batch or without."""

    query_id: str
    run_id: str
    name: str | None
    batch_id: int
    finished_ms: int
    """When the trigger began, by the driver's clock, plus how long it took."""
    batch_duration_ms: int
    input_rows: int
    sources: tuple[SourceProgress, ...]


def read_progress(text: str) -> BatchProgress:
    """From the JSON form of a `StreamingQueryProgress`; its Python fields turn null into the string "None"."""
    fields: dict[str, Any] = json.loads(text)
    duration_ms = int(fields.get("batchDuration", 0))
    return BatchProgress(
        query_id=fields["id"],
        run_id=fields["runId"],
        name=fields.get("name"),
        batch_id=int(fields["batchId"]),
        finished_ms=_moment_ms(fields["timestamp"]) + duration_ms,
        batch_duration_ms=duration_ms,
        input_rows=int(fields.get("numInputRows", 0)),
        sources=tuple(_source(source) for source in fields["sources"]),
    )


def read_offsets(shown: object) -> dict[Partition, int]:
    """Parses offsets from progress, a checkpoint or the source; empty for other sources."""
    if isinstance(shown, str):
        try:
            shown = json.loads(shown)
        except ValueError:
            return {}
    if not isinstance(shown, Mapping):
        return {}
    found = {}
    for topic, partitions in shown.items():
        if topic.startswith(_NOTE) or not isinstance(partitions, Mapping):
            continue
        for partition, offset in partitions.items():
            if partition.isdecimal() and isinstance(offset, int):
                found[topic, int(partition)] = offset
    return found


def _source(fields: Mapping[str, Any]) -> SourceProgress:
    return SourceProgress(
        start=read_offsets(fields.get("startOffset")),
        end=read_offsets(fields.get("endOffset")),
        latest=read_offsets(fields.get("latestOffset")),
        input_rows=int(fields.get("numInputRows", 0)),
    )


def _moment_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
