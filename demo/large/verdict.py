"""Checks that the replayed version has every event once: the history by numbers, live events by the sender's notes."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from demo.large.old_events import PREFIX, counted_numbers, malformed
from demo.outputs import DEAD, listed_files, read_topic
from demo.plan import AVERAGES, DEAD_LETTERS, HISTORY
from demo.proof import Note
from demo.telemetry import GOOD, MALFORMED

CLOSING: Final = "-closing-"
"""In the ids of events whose windows never end."""


class Verdict(dict[str, tuple[int, int]]):
    """By name: the expected and the actual number."""

    def holds(self) -> bool:
        return all(expected == found for expected, found in self.values())

    def lines(self) -> list[str]:
        return [
            f"{'ok   ' if expected == found else 'WRONG'}  {what}: {found:,} of {expected:,}"
            for what, (expected, found) in self.items()
        ]


def judge(servers: str, project: Path, version: str, old_events: int, notes: list[Note]) -> Verdict:
    ids = _ids(project / f"{HISTORY}.{version}")
    is_old = pc.starts_with(ids, PREFIX)
    numbers = pc.cast(pc.utf8_slice_codeunits(ids.filter(is_old), len(PREFIX)), pa.int64()).to_numpy()
    wanted = counted_numbers(old_events)
    verdict = Verdict()
    verdict["rows of history"] = (len(wanted), len(numbers))
    verdict["rows of history, each once"] = (len(wanted), int(np.isin(np.unique(numbers), wanted).sum()))
    sent = Counter(note.id for note in notes if note.kind == GOOD)
    found = Counter(ids.filter(pc.invert(is_old)).to_pylist())
    verdict["rows sent meanwhile"] = (sent.total(), found.total())
    verdict["rows sent meanwhile, each once"] = (sent.total(), (sent & found).total())
    closed = sum(CLOSING not in id_ for id_ in sent)
    verdict["readings in averages"] = (len(wanted) + closed, _averaged(servers, f"{AVERAGES}.{version}"))
    letters = _dead_letters(servers, version)
    bad = malformed(old_events) + sum(note.kind == MALFORMED for note in notes)
    verdict["dead letters"] = (bad, len(letters))
    verdict["dead letters, each once"] = (bad, len(set(letters)))
    return verdict


def _ids(table: Path) -> "pa.ChunkedArray[Any]":
    columns = [parquet.read_table(file, columns=["id"]).column("id") for file in listed_files(table)]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())


def _averaged(servers: str, topic: str) -> int:
    return sum(int(json.loads(record.value)["readings"]) for record in read_topic(servers, topic))


def _dead_letters(servers: str, version: str) -> list[tuple[bytes, bytes]]:
    return [
        (record.headers[f"{DEAD}partition"], record.headers[f"{DEAD}offset"])
        for record in read_topic(servers, DEAD_LETTERS)
        if record.headers[f"{DEAD}version"].decode() == version
    ]
