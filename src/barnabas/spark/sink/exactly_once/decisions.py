"""Encodes decisions as records of a compacted topic, and the pointer to the last one. Pure functions.

A decision is one record or several, in one transaction:

    key    {base}/{part}     so that the next decision of the query replaces this one when the topic is compacted
    value  {"v": 1, "batch": 7, "part": 0, "parts": 2, "tasks": [[id, producer id, epoch, commit epoch, ranges], ...]}

with ranges as [topic, partition, first offset, last offset, record count]. A task with many ranges may continue in
the next part. Parts that remain from an earlier, longer decision have another batch number, and are ignored.

    key    {base}/done
    value  {"v": 1, "batch": 7}

says that batch 7 was rolled forward. The pointer is the committed offset of the group {base}: that of the decision's
first record, with the same kind of JSON as its metadata, so that the group shows which batch was decided.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from barnabas.spark.sink.exactly_once.entries import Decision, LastDecision, TaskEntry, WrittenRange

VERSION: Final = 1
RANGES_PER_RECORD_MAX: Final = 4_000
"""Some 60 bytes each, so a record stays well below a quarter of the megabyte that topics accept by default."""
_DONE: Final = "done"


class UnreadableDecision(Exception):
    """The record is not ours, or of a later version."""


class Part(NamedTuple):
    batch_id: int
    part: int
    parts: int
    entries: tuple[TaskEntry, ...]


def encode_decision(base: str, decision: Decision) -> list[tuple[bytes, bytes]]:
    parts = list(_split(decision.entries)) or [()]
    return [
        (
            f"{base}/{index}".encode(),
            _json({"batch": decision.batch_id, "part": index, "parts": len(parts), "tasks": part}),
        )
        for index, part in enumerate(parts)
    ]


def encode_done(base: str, batch_id: int) -> tuple[bytes, bytes]:
    return f"{base}/{_DONE}".encode(), _json({"batch": batch_id})


def tombstones(base: str, parts: int) -> list[tuple[bytes, None]]:
    """For a decision that is no longer needed."""
    return [(f"{base}/{name}".encode(), None) for name in (*range(parts), _DONE)]


def decode_part(base: str, key: bytes | None, value: bytes | None) -> Part | None:
    """None: another query's record, or not a part of a decision."""
    name = _name(base, key)
    if name is None or name == _DONE or value is None:
        return None
    read = _read(value)
    try:
        entries = tuple(
            TaskEntry(task, producer, epoch, commit_epoch, tuple(WrittenRange(*each) for each in ranges))
            for task, producer, epoch, commit_epoch, ranges in read["tasks"]
        )
        return Part(read["batch"], read["part"], read["parts"], entries)
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableDecision(f"the decision {key!r} cannot be read: {error!r}") from error


def decode_done(base: str, key: bytes | None, value: bytes | None) -> int | None:
    """The batch that was rolled forward, if this record says so."""
    if _name(base, key) != _DONE or value is None:
        return None
    return int(_read(value)["batch"])


def whole_decision(parts: Iterable[Part]) -> Decision | None:
    """From its first part on; None if one is missing."""
    tasks: dict[tuple[str, int, int, int], list[WrittenRange]] = {}
    first: Part | None = None
    for expected, part in enumerate(parts):
        first = part if first is None else first
        if (part.part, part.batch_id, part.parts) != (expected, first.batch_id, first.parts):
            return None
        for entry in part.entries:
            tasks.setdefault(entry[:4], []).extend(entry.ranges)
        if expected + 1 == part.parts:
            return Decision(part.batch_id, tuple(TaskEntry(*who, tuple(ranges)) for who, ranges in tasks.items()))
    return None


def encode_pointer(batch_id: int, *, is_done: bool) -> str:
    return _json({"batch": batch_id, "done": is_done}).decode()


def decode_pointer(offset: int, metadata: str) -> LastDecision | None:
    """None: the offset was committed by another program. Then the decision is looked up in its topic."""
    try:
        read = _read(metadata.encode())
        return LastDecision(int(read["batch"]), offset, bool(read["done"]))
    except (UnreadableDecision, KeyError, TypeError, ValueError):
        return None


def _split(entries: Iterable[TaskEntry]) -> Iterator[tuple[TaskEntry, ...]]:
    part: list[TaskEntry] = []
    room = RANGES_PER_RECORD_MAX
    for entry in entries:
        rest = entry.ranges
        while rest:
            if not room:
                yield tuple(part)
                part, room = [], RANGES_PER_RECORD_MAX
            now, rest = rest[:room], rest[room:]
            part.append(entry._replace(ranges=now))
            room -= len(now)
    if part:
        yield tuple(part)


def _name(base: str, key: bytes | None) -> str | None:
    start = f"{base}/".encode()
    return key[len(start) :].decode() if key is not None and key.startswith(start) else None


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps({"v": VERSION, **content}, separators=(",", ":")).encode()


def _read(value: bytes) -> dict[str, Any]:
    try:
        read = json.loads(value)
    except ValueError as error:
        raise UnreadableDecision(f"a decision is JSON, not {value[:50]!r}") from error
    if not isinstance(read, dict) or read.get("v") != VERSION:
        raise UnreadableDecision(f"a decision of version {VERSION} is expected, not {value[:50]!r}: upgrade this sink")
    return read
