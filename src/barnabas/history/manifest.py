"""The manifest: which offsets of a topic's partitions are in which file, in one JSON file.

The pieces of a partition follow one another without gaps or overlaps, from `start` to `tiered_through`. A piece is a
Parquet file, or a range without committed records (transaction markers, aborted records), or a range that was deleted
from the log before it was archived (`lost`: only if the user accepted the gap).

Readers use only the files in the manifest: any other file is unfinished or being removed.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from barnabas.history.errors import BadManifest, NoHistory

FORMAT: Final = "barnabas-history"
VERSION: Final = 1
MANIFEST_NAME: Final = "_manifest.json"
"""Spark ignores files whose names begin with an underscore, so the folder can be read as one table."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Offsets from `start` up to and not including `end`."""

    start: int
    end: int
    file: str | None = None
    """Its name in the topic's folder; None if the range has no records."""
    rows: int = 0
    bytes: int = 0
    timestamp_ms_min: int | None = None
    timestamp_ms_max: int | None = None
    schema: int = 0
    """Number of the declared schema whose columns it has; 0: none."""
    sha256: str | None = None
    """Of the file's bytes."""
    is_lost: bool = False
    """The records were deleted from the log before they were archived."""


@dataclass(frozen=True, slots=True)
class Partition:
    start: int
    pieces: tuple[Piece, ...] = ()

    @property
    def tiered_through(self) -> int:
        """The first offset that is not in the history; never past the log's last stable offset."""
        return self.pieces[-1].end if self.pieces else self.start

    @property
    def files(self) -> list[Piece]:
        return [piece for piece in self.pieces if piece.file is not None]

    def overlapping(self, start: int, end: int) -> list[Piece]:
        return [piece for piece in self.pieces if piece.start < end and start < piece.end]


@dataclass(frozen=True, slots=True)
class Manifest:
    topic: str
    topic_id: str | None
    """From the cluster; a topic that is deleted and created again has another. None: brokers without ids."""
    schemas: tuple[str, ...] = ()
    """As declared, the first is number 1."""
    schema: int = 0
    """Number of the one that new files get; 0: none."""
    partitions: Mapping[int, Partition] = field(default_factory=dict)

    @property
    def tiered_through(self) -> dict[int, int]:
        return {number: partition.tiered_through for number, partition in sorted(self.partitions.items())}

    def with_partition(self, number: int, start: int) -> "Manifest":
        if number in self.partitions:
            raise ValueError(f"partition {number} already exists")
        return replace(self, partitions={**self.partitions, number: Partition(start)})

    def with_piece(self, number: int, piece: Piece) -> "Manifest":
        """Append a piece. Adjacent pieces without records are merged, so that an idle topic does not grow."""
        partition = self.partitions[number]
        pieces = partition.pieces
        last = pieces[-1] if pieces else None
        if last and _is_empty(last) and _is_empty(piece) and last.end == piece.start:
            pieces, piece = pieces[:-1], replace(last, end=piece.end)
        grown = replace(self, partitions={**self.partitions, number: replace(partition, pieces=(*pieces, piece))})
        grown.check()
        return grown

    def without_first(self, number: int, count: int) -> "Manifest":
        """Remove the first pieces, for retention."""
        partition = self.partitions[number]
        gone = partition.pieces[:count]
        if not gone:
            return self
        kept = Partition(gone[-1].end, partition.pieces[count:])
        return replace(self, partitions={**self.partitions, number: kept})

    def with_schema(self, declared: str | None) -> "Manifest":
        """Use this schema for new files; None: no typed columns."""
        if declared is None:
            return replace(self, schema=0)
        schemas = self.schemas if declared in self.schemas else (*self.schemas, declared)
        return replace(self, schemas=schemas, schema=schemas.index(declared) + 1)

    @property
    def declared(self) -> str | None:
        """The schema of new files."""
        return self.schemas[self.schema - 1] if self.schema else None

    def check(self) -> None:
        """Raise BadManifest if ranges do not follow one another."""
        if not 0 <= self.schema <= len(self.schemas):
            raise _bad(self.topic, f"the schema {self.schema} is not listed")
        for number, partition in self.partitions.items():
            expected = partition.start
            for piece in partition.pieces:
                if piece.start != expected or piece.end <= piece.start:
                    raise _bad(
                        self.topic,
                        f"in partition {number} the range {piece.start} to {piece.end} follows the offset {expected}",
                    )
                if not 0 <= piece.schema <= len(self.schemas):
                    raise _bad(self.topic, f"a file has the schema {piece.schema}, which is not listed")
                if piece.file is not None and Path(piece.file).name != piece.file:
                    raise _bad(self.topic, f"{piece.file!r} is not the name of a file in its folder")
                expected = piece.end

    def files(self) -> Iterable[Piece]:
        for _, partition in sorted(self.partitions.items()):
            yield from partition.files


def _is_empty(piece: Piece) -> bool:
    return piece.file is None and not piece.is_lost


def _bad(topic: str, problem: str) -> BadManifest:
    return BadManifest(
        f"The manifest of {topic} is inconsistent: {problem}",
        f"restore {MANIFEST_NAME} from a backup, or move the folder away and archive the topic again",
    )


# --- on disk


def topic_folder(history: Path | str, topic: str) -> Path:
    return Path(history) / topic


def load(history: Path | str, topic: str) -> Manifest:
    """NoHistory if there is none, BadManifest if it is inconsistent."""
    path = topic_folder(history, topic) / MANIFEST_NAME
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise NoHistory(
            f"There is no history of {topic} in {history}",
            f"create one: barnabas archive run --topic {topic} --to {history}; or correct the path",
        ) from None
    return from_json(text, topic)


def topics_in(history: Path | str) -> list[str]:
    return sorted(path.parent.name for path in Path(history).glob(f"*/{MANIFEST_NAME}"))


def to_json(manifest: Manifest) -> str:
    return json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "topic": manifest.topic,
            "topic_id": manifest.topic_id,
            "schemas": list(manifest.schemas),
            "schema": manifest.schema,
            "partitions": {
                str(number): {
                    "start": partition.start,
                    "tiered_through": partition.tiered_through,
                    "pieces": [_piece_to_json(piece) for piece in partition.pieces],
                }
                for number, partition in sorted(manifest.partitions.items())
            },
        },
        indent=1,
    )


def _piece_to_json(piece: Piece) -> dict[str, Any]:
    if piece.file is None:
        return {"start": piece.start, "end": piece.end, **({"lost": True} if piece.is_lost else {})}
    return {
        "start": piece.start,
        "end": piece.end,
        "file": piece.file,
        "rows": piece.rows,
        "bytes": piece.bytes,
        "timestamp_ms": [piece.timestamp_ms_min, piece.timestamp_ms_max],
        "schema": piece.schema,
        "sha256": piece.sha256,
    }


def from_json(text: str, topic: str) -> Manifest:
    try:
        document = json.loads(text)
        if document["format"] != FORMAT or document["topic"] != topic:
            raise _bad(topic, f"it says {document['format']} of {document['topic']}")
        if document["version"] != VERSION:
            raise BadManifest(
                f"The manifest of {topic} has version {document['version']}, this program supports version {VERSION}",
                "use a newer barnabas",
            )
        manifest = Manifest(
            topic,
            document["topic_id"],
            tuple(document["schemas"]),
            int(document["schema"]),
            {int(number): _partition(partition) for number, partition in document["partitions"].items()},
        )
        for number, partition in manifest.partitions.items():
            stored = document["partitions"][str(number)]["tiered_through"]
            if stored != partition.tiered_through:
                raise _bad(topic, f"partition {number} is tiered through {stored}, its pieces reach another offset")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise _bad(topic, f"{type(error).__name__}: {error}") from error
    manifest.check()
    return manifest


def _partition(document: Mapping[str, Any]) -> Partition:
    return Partition(int(document["start"]), tuple(_piece(piece) for piece in document["pieces"]))


def _piece(document: Mapping[str, Any]) -> Piece:
    start, end = int(document["start"]), int(document["end"])
    if "file" not in document:
        return Piece(start, end, is_lost=bool(document.get("lost", False)))
    first, last = document["timestamp_ms"]
    return Piece(
        start,
        end,
        str(document["file"]),
        int(document["rows"]),
        int(document["bytes"]),
        first,
        last,
        int(document["schema"]),
        document["sha256"],
    )
