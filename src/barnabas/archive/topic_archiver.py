"""Archives one topic, in rounds.

A round reads each partition from where the last round ended up to the last stable offset. A file grows over several
rounds until it is full; then it is finished and added to the manifest. Only what is in the manifest counts: an archiver
that was killed starts again at `tiered_through`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.archive.file_writer import FileWriter
from barnabas.archive.rolling import RollRules
from barnabas.archive.store import TopicStore
from barnabas.archive.topic_facts import TopicFacts, facts_of
from barnabas.client.cluster import Cluster
from barnabas.client.settings import READ_COMMITTED
from barnabas.history.declared import CONNECTOR_COLUMNS, canonical, merged, parse
from barnabas.history.errors import HistoryError
from barnabas.history.manifest import Manifest, Piece
from barnabas.spark.query.data_loss import DataLost
from barnabas.spark.source.fetch import FetchSettings, read_range
from barnabas.spark.source.ranges import OffsetRange


class Advance(NamedTuple):
    """Reported after each batch."""

    topic: str
    partition: int
    offsets: int
    rows: int
    bytes: int


class RecordsDeletedBeforeArchived(HistoryError):
    """The log has deleted records that were not archived yet."""


@dataclass(slots=True)
class _Open:
    """A partition being archived. `tiered_through <= position`; the writer, if any, begins at `tiered_through`."""

    tiered_through: int
    position: int
    since_s: float | None = None
    """When the first offset was read that is not in the manifest yet."""
    writer: FileWriter | None = field(default=None)


class TopicArchiver:
    """Use it inside `store.archiving()`."""

    def __init__(
        self,
        cluster: Cluster,
        store: TopicStore,
        *,
        declared: str | None = None,
        rules: RollRules | None = None,
        may_lose: bool = False,
        fetch: FetchSettings | None = None,
        on_advance: Callable[[Advance], None] = lambda advance: None,
        should_stop: Callable[[], bool] = lambda: False,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`declared`: a schema for JSON values; None keeps the current one, "" removes it.

        `may_lose`: where records were deleted before they were archived, record the gap and continue after it.
        """
        self.topic = store.topic
        self._cluster = cluster
        self._store = store
        self._rules = rules or RollRules()
        self._may_lose = may_lose
        self._fetch = fetch or FetchSettings()
        self._on_advance = on_advance
        self._should_stop = should_stop
        self._now_s = now_s
        self._open: dict[int, _Open] = {}
        facts = facts_of(cluster, self.topic)
        self._manifest = store.change(lambda old: self._initial_manifest(old, facts, declared))
        self._columns = parse(self._manifest.declared) if self._manifest.declared else None
        self._schema_number = self._manifest.schema

    @property
    def manifest(self) -> Manifest:
        """The current one."""
        return self._manifest

    def round(self, *, finish: bool) -> None:
        """Read new records. `finish`: also finish files that are not full."""
        facts = facts_of(self._cluster, self.topic)
        self._check_identity(self._manifest, facts)
        for number in sorted(facts.last_stable):
            if self._should_stop():
                break
            partition = self._partition(number, facts.log_start[number])
            self._close_gap(number, partition, facts.log_start[number])
            self._check_end(number, partition, facts.last_stable[number])
            self._read(number, partition, facts.last_stable[number], facts.topic_id)
            if finish or self._is_old(partition):
                self._cut(number, partition, partition.position)
        if finish:
            self.finish()

    def finish(self) -> None:
        """Finish all open files."""
        for number, partition in sorted(self._open.items()):
            self._cut(number, partition, partition.position)

    def abandon(self) -> None:
        """Discard what is not in the manifest."""
        for partition in self._open.values():
            if partition.writer is not None:
                partition.writer.abandon()
        self._open.clear()

    # --- start

    def _initial_manifest(self, old: Manifest | None, facts: TopicFacts, declared: str | None) -> Manifest:
        manifest = old or Manifest(self.topic, facts.topic_id)
        self._check_identity(manifest, facts)
        if declared is None:
            return manifest
        schema = canonical(declared) if declared else None
        merged([*manifest.schemas, *([schema] if schema else [])])
        return manifest.with_schema(schema)

    def _check_identity(self, manifest: Manifest, facts: TopicFacts) -> None:
        if manifest.topic_id is not None and facts.topic_id not in (None, manifest.topic_id):
            raise HistoryError(
                f"The topic {self.topic} was deleted and created again: the history in {self._store.folder} is that of "
                f"the old one ({manifest.topic_id}, now {facts.topic_id})",
                f"archive into another folder with --to, or move {self._store.folder} away",
            )

    def _partition(self, number: int, log_start: int) -> _Open:
        known = self._open.get(number)
        if known is None:
            if number not in self._manifest.partitions:
                self._manifest = self._store.change(lambda old: _existing(old).with_partition(number, log_start))
            begin = self._manifest.partitions[number].tiered_through
            known = self._open[number] = _Open(begin, begin)
        return known

    # --- a partition

    def _close_gap(self, number: int, partition: _Open, log_start: int) -> None:
        if log_start <= partition.position:
            return
        if not self._may_lose:
            raise RecordsDeletedBeforeArchived(
                f"The log of {self.topic}-{number} begins at {log_start}, but the history ends at "
                f"{partition.position}: retention has deleted {log_start - partition.position:,} offsets before they "
                "were archived",
                "to continue and record the gap in the manifest, use --accept-gap; to archive sooner, use "
                "--follow, or raise the topic's retention.ms and retention.bytes",
            )
        self._cut(number, partition, partition.position)
        self._commit(number, Piece(partition.position, log_start, is_lost=True))
        partition.tiered_through = partition.position = log_start

    def _check_end(self, number: int, partition: _Open, last_stable: int) -> None:
        if last_stable < partition.position:
            raise HistoryError(
                f"The log of {self.topic}-{number} is stable up to {last_stable}, but was archived up to "
                f"{partition.position}: a leader without all records was elected, or the log was restored",
                f"compare with barnabas archive verify, then archive into another folder or move {self._store.folder} "
                "away",
            )

    def _read(self, number: int, partition: _Open, end: int, topic_id: str | None) -> None:
        if partition.position >= end:
            return
        if partition.since_s is None:
            partition.since_s = self._now_s()
        wanted = OffsetRange(self.topic, number, partition.position, end, topic_id)
        batches = read_range(
            self._cluster,
            wanted,
            columns=CONNECTOR_COLUMNS,
            isolation_level=READ_COMMITTED,
            fetch=self._fetch,
            fail_on_data_loss=True,
        )
        try:
            for batch in batches:
                before = partition.position
                self._add(number, partition, batch)
                self._report(number, partition.position - before, batch)
                if self._should_stop():
                    batches.close()  # type: ignore[attr-defined]  # a generator: closes its connection
                    return
        except DataLost as lost:
            loss = lost.losses[0]
            raise RecordsDeletedBeforeArchived(
                f"Records of {self.topic}-{number} from offset {loss.wanted} on are gone: {loss.cause.value}",
                "start the archiver again: it reports what is missing and what can be done",
            ) from lost
        self._report(number, end - partition.position, None)
        partition.position = end

    def _add(self, number: int, partition: _Open, batch: object) -> None:
        if partition.writer is None:
            partition.writer = FileWriter(
                self._store, number, partition.tiered_through, self._columns, self._schema_number
            )
        writer = partition.writer
        writer.add(batch)
        partition.position = writer.next_offset
        if writer.bytes >= self._rules.bytes or writer.rows >= self._rules.rows:
            self._cut(number, partition, writer.next_offset)
        elif self._waiting_bytes() >= self._rules.memory_bytes:
            max(self._writers(), key=lambda one: one.waiting_bytes).flush()

    def _writers(self) -> list[FileWriter]:
        return [one.writer for one in self._open.values() if one.writer is not None]

    def _waiting_bytes(self) -> int:
        return sum(writer.waiting_bytes for writer in self._writers())

    def _report(self, number: int, offsets: int, batch: object) -> None:
        rows, size = (getattr(batch, "num_rows", 0), getattr(batch, "nbytes", 0)) if batch is not None else (0, 0)
        self._on_advance(Advance(self.topic, number, offsets, rows, size))

    def _is_old(self, partition: _Open) -> bool:
        return partition.since_s is not None and self._now_s() - partition.since_s >= self._rules.age_s

    def _cut(self, number: int, partition: _Open, end: int) -> None:
        """Make what was read up to `end` a piece of the history."""
        if end <= partition.tiered_through:
            return
        piece = Piece(partition.tiered_through, end)
        if partition.writer is not None:
            piece = partition.writer.finish(end)
            partition.writer = None
        self._commit(number, piece)
        partition.tiered_through = end
        partition.since_s = None if end == partition.position else self._now_s()

    def _commit(self, number: int, piece: Piece) -> None:
        self._manifest = self._store.change(lambda old: _existing(old).with_piece(number, piece))


def _existing(manifest: Manifest | None) -> Manifest:
    if manifest is None:
        raise HistoryError(
            "The manifest was removed while the archiver ran", "start the archiver again: it begins a new history"
        )
    return manifest
