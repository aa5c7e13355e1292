"""Removes the oldest files of a history. Independent of the retention of the topic."""

from dataclasses import dataclass
from pathlib import Path

from barnabas.archive.store import TopicStore
from barnabas.history.errors import NoHistory
from barnabas.history.manifest import Manifest, Piece, load


@dataclass(frozen=True, slots=True)
class Removed:
    partition: int
    files: int
    rows: int
    bytes: int
    start: int
    """Where the history begins now."""


def retain(history: Path, topic: str, *, older_than_ms: int | None, bytes_max: int | None) -> list[Removed]:
    """Remove files whose newest record is older than this time, and the oldest ones until the rest is small enough.

    Only from the start, so that the rest has no gap. They are removed from the manifest first, then from the disk.
    """
    load(history, topic)
    store = TopicStore(history, topic)
    gone: dict[int, tuple[Piece, ...]] = {}

    def shortened(manifest: Manifest | None) -> Manifest:
        if manifest is None:
            raise NoHistory(f"There is no history of {topic} in {history}", "create one with barnabas archive run")
        counts = _expired(manifest, older_than_ms)
        if bytes_max is not None:
            _shrink(manifest, counts, bytes_max)
        for number, count in counts.items():
            gone[number] = manifest.partitions[number].pieces[:count]
        for number, count in counts.items():
            manifest = manifest.without_first(number, count)
        return manifest

    after = store.change(shortened)
    for pieces in gone.values():
        for piece in pieces:
            if piece.file is not None:
                (store.folder / piece.file).unlink(missing_ok=True)
    return [
        Removed(
            number,
            sum(piece.file is not None for piece in pieces),
            sum(piece.rows for piece in pieces),
            sum(piece.bytes for piece in pieces),
            after.partitions[number].start,
        )
        for number, pieces in sorted(gone.items())
    ]


def _expired(manifest: Manifest, older_than_ms: int | None) -> dict[int, int]:
    """How many pieces to remove, by partition; pieces without rows go with the piece after them."""
    counts = {}
    for number, partition in manifest.partitions.items():
        count = 0
        for at, piece in enumerate(partition.pieces, start=1):
            if piece.file is None:
                continue
            if older_than_ms is None or (piece.timestamp_ms_max or 0) >= older_than_ms:
                break
            count = at
        counts[number] = count
    return counts


def _shrink(manifest: Manifest, counts: dict[int, int], bytes_max: int) -> None:
    """The oldest first piece of all partitions goes first."""
    left: list[tuple[int, int, int, int]] = []
    for number, partition in manifest.partitions.items():
        newest = 0
        for at, piece in enumerate(partition.pieces):
            if piece.file is not None and at >= counts[number]:
                newest = max(newest, piece.timestamp_ms_max or 0)
                left.append((newest, number, at + 1, piece.bytes))
    total = sum(size for *_, size in left)
    for _, number, count, size in sorted(left):
        if total <= bytes_max:
            return
        counts[number] = count
        total -= size
