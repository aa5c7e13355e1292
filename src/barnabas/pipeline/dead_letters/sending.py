"""Sends dead letters of sources to their topics again, each exactly once. Without Spark.

Each transaction sends some dead letters and records the position up to which they were sent. A process first takes over
the transactional id, then reads the position: what a killed process had begun is aborted, what it had committed is in
the position, and a process that was only slow can no longer commit.

A record is sent as it was: key, value, headers, timestamp, partition. Additional headers name the source and version
that it is meant for: all other readers of the topic have processed the original, and skip the copy.

Dead letters of flows are not sent: their record was accepted by its source, and other flows have counted it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.offsets import MAX_TIMESTAMP
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_listing import wait_until_visible
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.pipeline.dead_letters.listing import check_origin, is_ours
from barnabas.pipeline.dead_letters.positions import Positions
from barnabas.pipeline.dead_letters.reading import CommittedRange, Letter, committed_range, letters
from barnabas.pipeline.flow import dead_letter_headers as names
from barnabas.pipeline.log_client import connected
from barnabas.pipeline.project.model import Project
from barnabas.records.record import Header, Record, build_batch
from barnabas.spark import metadata_topic
from barnabas.spark.errors import UserError
from barnabas.wire.errors import ErrorCode

TRANSACTION_TIMEOUT_MS: Final = 60_000
LETTERS_MAX: Final = 1000
"""In one transaction."""
BATCH_BYTES_MAX: Final = 512 * 1024
"""Half of what brokers allow by default; one record alone may be larger."""

_VISIBLE_WITHIN_S: Final = 10.0
"""After that it is committed anyway, but a reader may see it a moment later."""

TOOK_OVER: Final = "took-over"
LOOKED: Final = "looked"
SENT: Final = "sent"
MOVED: Final = "moved"
COMMITTED: Final = "committed"
STEPS: Final = (TOOK_OVER, LOOKED, SENT, MOVED, COMMITTED)

Hook = Callable[[str], None]

_TOO_OLD: Final = frozenset({ErrorCode.invalid_timestamp})


@dataclass(frozen=True)
class Outcome:
    sent: Mapping[str, int]
    """Dead letters by source."""
    left: Mapping[str, int]
    """Dead letters of flows, and of sources that are no longer in the project."""
    behind: Mapping[str, int]
    """Of those sent: how many are older than the newest record of their topic by more than the watermark delay."""


@dataclass
class _Tally:
    oldest_ms: Mapping[str, int]
    """By source: records older than this are probably behind the watermark."""
    sent: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    behind: Counter[str] = field(default_factory=Counter)

    def count(self, chunk: Iterable[Letter]) -> None:
        for letter in chunk:
            self.sent[letter.origin] += 1
            self.behind[letter.origin] += letter.timestamp_ms < self.oldest_ms.get(letter.origin, letter.timestamp_ms)


def replay(
    project: Project, *, origin: str | None, version: str, dry_run: bool, hook: Hook = lambda step: None
) -> Outcome:
    """`hook` is called after each step; tests crash there."""
    check_origin(project, origin)
    project.state_folder(version)  # raises if it is not a valid version name
    topic = project.dead_letters.topic
    # A read has a request in flight, so writing needs its own connections.
    with connected(project.log) as cluster, connected(project.log) as writing:
        sender = None if dry_run else _Sender(writing, project, version, hook)
        tally = _Tally(_watermark_estimates(cluster, project))
        there = committed_range(cluster, topic)
        positions = Positions.read(cluster, project.name, topic)
        hook(LOOKED)
        for partition in there.starts:
            chunk: list[Letter] = []
            for letter in _waiting(cluster, project, origin, version, partition, there, positions, tally):
                chunk.append(letter)
                if len(chunk) == LETTERS_MAX:
                    positions = sender.send(chunk, positions) if sender else positions
                    tally.count(chunk)
                    chunk = []
            if chunk:
                positions = sender.send(chunk, positions) if sender else positions
                tally.count(chunk)
    return Outcome(tally.sent, tally.left, +tally.behind)


def _watermark_estimates(cluster: Cluster, project: Project) -> dict[str, int]:
    """For sources with a watermark: about where it is, estimated from the newest record."""
    oldest: dict[str, int] = {}
    topics = cluster.topics({source.topic for source in project.sources.values()})
    for source in project.sources.values():
        if source.watermark is None or source.topic not in topics:
            continue
        places = [(source.topic, each.partition_index) for each in topics[source.topic].partitions]
        newest = max((answer.timestamp for answer in cluster.offsets(places, MAX_TIMESTAMP).values()), default=-1)
        oldest[source.name] = newest - source.watermark.delay.ms
    return oldest


def _waiting(
    cluster: Cluster,
    project: Project,
    origin: str | None,
    version: str,
    partition: int,
    there: CommittedRange,
    positions: Positions,
    tally: _Tally,
) -> Iterable[Letter]:
    """Dead letters of this version that can be sent and have not been."""
    for letter in letters(
        cluster, project.dead_letters.topic, partition, there.starts[partition], there.ends[partition]
    ):
        if not is_ours(letter, project, origin) or letter.version != version:
            continue
        source = project.sources.get(letter.origin)
        if source is None or letter.source_partition is None or letter.source_topic != source.topic:
            tally.left[letter.origin] += 1
        elif letter.offset >= positions.next(version, letter.origin, partition):
            yield letter


class _Sender:
    def __init__(self, cluster: Cluster, project: Project, version: str, hook: Hook) -> None:
        """From here on no other process can send dead letters of this version."""
        metadata_topic.create(cluster)
        transactions = Transactions(cluster)
        self._cluster = cluster
        self._transactional_id = f"barnabas.{project.name}.{version}.dead-letters"
        producer = transactions.take_over(self._transactional_id, timeout_ms=TRANSACTION_TIMEOUT_MS)
        self._writer = TransactionWriter(cluster, transactions, producer)
        self._project = project.name
        self._version = version
        self._hook = hook
        self._partitions = {
            topic: len(found.partitions)
            for topic, found in cluster.topics({source.topic for source in project.sources.values()}).items()
        }
        hook(TOOK_OVER)

    def send(self, chunk: Sequence[Letter], positions: Positions) -> Positions:
        """Send dead letters of one partition and record the position after them, in one transaction."""
        by_place: dict[tuple[str, int], list[Letter]] = {}
        for letter in chunk:
            by_place.setdefault(self._place(letter), []).append(letter)
        for place, found in by_place.items():
            for batch in _batches(found):
                self._append(place, batch)
                self._hook(SENT)
        ends = {letter.origin: letter.offset + 1 for letter in chunk}
        moved = positions.moved(self._writer, self._version, chunk[0].partition, ends)
        self._hook(MOVED)
        self._writer.commit()
        self._hook(COMMITTED)
        # A run that starts after this returns reads what was sent.
        wait_until_visible(self._cluster, [self._transactional_id], limit_s=_VISIBLE_WITHIN_S)
        return moved

    def _append(self, place: tuple[str, int], batch: Sequence[Letter]) -> None:
        records = [_record(number, letter, self._project) for number, letter in enumerate(batch)]
        try:
            self._writer.append(*place, build_batch(records))
        except Refused as refused:
            which = f"the dead letter at offset {batch[0].offset} of partition {batch[0].partition}"
            if refused.code in _TOO_OLD:
                raise UserError(
                    f"{place[0]} rejects {which}: its timestamp is too far from now",
                    "raise message.timestamp.before.max.ms of the topic; what has been sent so far stays",
                ) from refused
            if refused.code == ErrorCode.message_too_large:
                raise UserError(
                    f"{place[0]} rejects {which}: with the headers that name its source it is too large",
                    "raise max.message.bytes of the topic a little; what has been sent so far stays",
                ) from refused
            raise

    def _place(self, letter: Letter) -> tuple[str, int]:
        """Its original partition, to keep the order of keys."""
        topic, partition = str(letter.source_topic), int(letter.source_partition or 0)
        if topic not in self._partitions:
            raise UserError(
                f"the topic {topic} no longer exists, so dead letters of `{letter.origin}` cannot be sent to it",
                f"create it (barnabas topic create {topic}), or correct `topic:` of the source",
            )
        return topic, partition % self._partitions[topic]


def _record(number: int, letter: Letter, project: str) -> Record:
    whom = (
        Header(names.ATTEMPT, str(letter.attempt + 1).encode()),
        Header(names.PIPELINE, project.encode()),
        Header(names.VERSION, letter.version.encode()),
        Header(names.FLOW, letter.origin.encode()),
    )
    own = tuple(Header(name, value) for name, value in letter.headers)
    return Record(number, letter.timestamp_ms, letter.key, letter.value, own + whom)


def _batches(found: Sequence[Letter]) -> Iterable[Sequence[Letter]]:
    batch: list[Letter] = []
    size = 0
    for letter in found:
        more = len(letter.key or b"") + len(letter.value or b"") + sum(len(v or b"") for _, v in letter.headers) + 200
        if batch and size + more > BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch.append(letter)
        size += more
    if batch:
        yield batch
