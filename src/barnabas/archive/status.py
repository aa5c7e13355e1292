"""Up to which offset topics are archived, and their lag."""

from dataclasses import dataclass
from pathlib import Path

from barnabas.archive.topic_facts import facts_of
from barnabas.client.cluster import Cluster
from barnabas.history.manifest import Manifest, Partition, load


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    topic: str
    partition: int
    start: int
    tiered_through: int
    files: int
    rows: int
    bytes: int
    lost: int
    """Offsets that were deleted from the log before they were archived."""
    log_start: int | None = None
    last_stable: int | None = None

    @property
    def behind(self) -> int | None:
        """Offsets that could be archived now."""
        return None if self.last_stable is None else self.last_stable - self.tiered_through


def status_of(manifest: Manifest) -> list[PartitionStatus]:
    """From the manifest only."""
    return [_status(manifest.topic, number, one) for number, one in sorted(manifest.partitions.items())]


def status(history: Path, topic: str, cluster: Cluster | None) -> list[PartitionStatus]:
    manifest = load(history, topic)
    if cluster is None:
        return status_of(manifest)
    facts = facts_of(cluster, topic)
    known = manifest.partitions
    return [
        _status(topic, number, known.get(number, Partition(facts.log_start.get(number, 0))), facts.log_start, end)
        for number in sorted({*known, *facts.last_stable})
        for end in [facts.last_stable]
    ]


def _status(
    topic: str,
    number: int,
    partition: Partition,
    log_start: dict[int, int] | None = None,
    last_stable: dict[int, int] | None = None,
) -> PartitionStatus:
    files = partition.files
    return PartitionStatus(
        topic,
        number,
        partition.start,
        partition.tiered_through,
        len(files),
        sum(piece.rows for piece in files),
        sum(piece.bytes for piece in files),
        sum(piece.end - piece.start for piece in partition.pieces if piece.is_lost),
        (log_start or {}).get(number),
        (last_stable or {}).get(number),
    )
