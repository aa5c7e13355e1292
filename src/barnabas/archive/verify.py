"""Verifies a history: the checksum of every file, and every record that the log still has."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from barnabas.archive.topic_facts import facts_of
from barnabas.client.cluster import Cluster
from barnabas.client.settings import READ_COMMITTED
from barnabas.history.declared import CONNECTOR_COLUMNS
from barnabas.history.errors import HistoryError
from barnabas.history.manifest import Manifest, Piece, load, topic_folder
from barnabas.history.read import read_file
from barnabas.spark.arrow.schema import arrow_schema
from barnabas.spark.query.data_loss import Cause, DataLost
from barnabas.spark.source.fetch import read_range
from barnabas.spark.source.ranges import OffsetRange

_READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """About one piece of the history."""

    partition: int
    start: int
    end: int
    file: str | None
    rows: int
    compared: int
    """Offsets that the log still has, and that were compared."""
    problem: str | None = None


def verify(
    history: Path, topic: str, cluster: Cluster | None, *, on_advance: Callable[[int], None] = lambda size: None
) -> Iterator[Finding]:
    """Verify every piece of a topic's history. Without a cluster, only the files are checked."""
    manifest = load(history, topic)
    log: dict[int, tuple[int, int]] = {}
    if cluster is not None:
        facts = facts_of(cluster, topic)
        if manifest.topic_id is not None and facts.topic_id not in (None, manifest.topic_id):
            raise HistoryError(
                f"The topic {topic} was deleted and created again: its log is not the one that was archived",
                "check only the files with --offline",
            )
        log = {number: (facts.log_start[number], end) for number, end in facts.last_stable.items()}
    for number, partition in sorted(manifest.partitions.items()):
        for piece in partition.pieces:
            first, end = log.get(number, (0, 0))
            yield _verified(history, manifest, number, piece, max(first, piece.start), min(end, piece.end), cluster)
            on_advance(piece.bytes)


def _verified(
    history: Path, manifest: Manifest, number: int, piece: Piece, start: int, end: int, cluster: Cluster | None
) -> Finding:
    compared = max(0, end - start) if cluster is not None and not piece.is_lost else 0
    finding = Finding(number, piece.start, piece.end, piece.file, piece.rows, compared)
    path = topic_folder(history, manifest.topic) / piece.file if piece.file else None
    problem = _problem_of_file(path, piece) if path else None
    if problem is None and compared and cluster is not None:
        wanted = OffsetRange(manifest.topic, number, start, end, manifest.topic_id)
        problem = _difference(path, wanted, cluster)
    return finding if problem is None else _with(finding, problem)


def _with(finding: Finding, problem: str) -> Finding:
    return Finding(finding.partition, finding.start, finding.end, finding.file, finding.rows, finding.compared, problem)


def _problem_of_file(path: Path, piece: Piece) -> str | None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(_READ_BYTES):
                digest.update(data)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if digest.hexdigest() != piece.sha256:
        return "its bytes have changed since it was written (SHA-256 differs from the manifest's)"
    rows = 0
    last = piece.start - 1
    for batch in read_file(path, arrow_schema(["offset"]), start=-(1 << 62), end=1 << 62):
        offsets = batch.column(0).to_numpy()
        if offsets[0] <= last or (offsets[1:] <= offsets[:-1]).any() or offsets[-1] >= piece.end:
            return f"its offsets do not increase, or are outside of its range {piece.start} to {piece.end}"
        last = int(offsets[-1])
        rows += batch.num_rows
    return None if rows == piece.rows else f"it has {rows} rows, the manifest says {piece.rows}"


def _difference(path: Path | None, wanted: OffsetRange, cluster: Cluster) -> str | None:
    """The first offset at which file and log differ."""
    schema = arrow_schema(CONNECTOR_COLUMNS)
    archived = iter(()) if path is None else read_file(path, schema, start=wanted.start, end=wanted.end)
    logged = read_range(
        cluster, wanted, columns=CONNECTOR_COLUMNS, isolation_level=READ_COMMITTED, fail_on_data_loss=True
    )
    try:
        for left, right in _aligned(archived, logged):
            if left is None or right is None:
                rows, where = (right, "the log") if left is None else (left, "the history")
                return f"offset {rows.column('offset')[0].as_py()} is only in {where}"
            if not left.equals(right):
                return _first_difference(left, right)
    except DataLost as lost:
        loss = lost.losses[0]
        if loss.cause is not Cause.EXPIRED:
            return f"the log cannot be compared from offset {loss.wanted} on: {loss.cause.value}"
        # Retention removed records during the comparison; those before them were equal.
    return None


def _aligned(left: Iterable[Any], right: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of batches with the same number of rows; None where one side has ended."""
    lefts, rights = iter(left), iter(right)
    one, other = next(lefts, None), next(rights, None)
    while one is not None and other is not None:
        count = min(one.num_rows, other.num_rows)
        yield one.slice(0, count), other.slice(0, count)
        one = one.slice(count) if one.num_rows > count else next(lefts, None)
        other = other.slice(count) if other.num_rows > count else next(rights, None)
    if one is not None or other is not None:
        yield one, other


def _first_difference(left: Any, right: Any) -> str:
    for at in range(left.num_rows):
        ours, theirs = left.slice(at, 1), right.slice(at, 1)
        if not ours.equals(theirs):
            offsets = (ours.column("offset")[0].as_py(), theirs.column("offset")[0].as_py())
            if offsets[0] != offsets[1]:
                where = "the history" if offsets[0] < offsets[1] else "the log"
                return f"offset {min(offsets)} is only in {where}"
            names = [name for name in left.schema.names if not ours.column(name).equals(theirs.column(name))]
            return f"offset {offsets[0]} differs from the log in {', '.join(names)}"
    raise AssertionError("unequal batches have an unequal row")
