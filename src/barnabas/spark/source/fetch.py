"""Reads one range of offsets from a partition's leader, and yields it as Arrow batches.

One request is always ahead: the next fetch is in flight while this one is decoded, and while Spark processes its rows.

What can go wrong, and what is done about it:

    leaders move, brokers restart, timeouts    retry, until nothing came for `poll_timeout_ms`
    records are gone (retention, truncation)   `fail_on_data_loss`: DataLost. Otherwise reported, and continued where
                                               there are records again, as Spark's Kafka connector does
    the topic was deleted, or created again    the same, but no records of the new topic are read at the old offsets
    no records although the log continues      an error after `poll_timeout_ms`

A range ends at its end offset, whatever is there: records, transaction markers, aborted records, or a hole.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import Any, Final, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from barnabas.client.cluster import UNKNOWN_TOPIC_RETRY_S, Cluster
from barnabas.client.connection import Connection, FrameBuffer
from barnabas.client.errors import (
    CannotConnect,
    ConnectionClosed,
    Refused,
    RequestTimedOut,
    UnsupportedApi,
)
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.retrying import LEADER_MOVING, RetryPolicy
from barnabas.client.settings import READ_COMMITTED
from barnabas.records.batch import LOG_OVERHEAD
from barnabas.spark.arrow.columns import Wanted
from barnabas.spark.arrow.decode import UnreadableRecords, decode_batches, scan
from barnabas.spark.errors import UserError
from barnabas.spark.query.data_loss import Cause, DataLost, Loss, warning
from barnabas.spark.source.fetch_settings import FetchSettings
from barnabas.spark.source.partition_fetch import BY_ID, BY_NAME, Answer, answer_of, fetch_request
from barnabas.spark.source.ranges import OffsetRange
from barnabas.spark.source.tiering import may_be_tiered
from barnabas.wire.codec import encode_request
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition

__all__ = ["FetchSettings", "log_loss", "read_range"]

_log = logging.getLogger(__name__)

_UNREACHABLE: Final = (CannotConnect, ConnectionClosed, RequestTimedOut)
_ANOTHER_TOPIC: Final = frozenset(
    {ErrorCode.unknown_topic_or_partition, ErrorCode.unknown_topic_id, ErrorCode.inconsistent_topic_id}
)
_PASSING: Final = LEADER_MOVING | _ANOTHER_TOPIC | {ErrorCode.unknown_server_error, ErrorCode.request_timed_out}
_NO_ID: Final = UUID(int=0)
_BATCH_LENGTH: Final = Struct(">i")
_BATCH_LENGTH_POSITION: Final = 8
_INT32_MAX: Final = (1 << 31) - 1
_HOLE_ANSWERS: Final = 3


def log_loss(loss: Loss) -> None:
    _log.warning("%s", warning([loss]))


def read_range(
    cluster: Cluster,
    range: OffsetRange,
    *,
    columns: Sequence[str],
    isolation_level: int,
    fetch: FetchSettings | None = None,
    fail_on_data_loss: bool,
    timestamp_ms: tuple[int | None, int | None] = (None, None),
    on_loss: Callable[[Loss], None] = log_loss,
) -> Iterator[Any]:
    """Arrow batches with these columns of all records in the range; `timestamp_ms` bounds them, the end exclusive.

    `on_loss` is called with what is missing if `fail_on_data_loss` is off.
    """
    asked = Wanted(range.topic, range.partition, tuple(columns), range.start, range.end, *timestamp_ms)
    reader = _RangeReader(cluster, range, asked, isolation_level, fetch or FetchSettings())
    reader.fail_on_data_loss = fail_on_data_loss
    reader.on_loss = on_loss
    try:
        yield from reader.rows()
    finally:
        reader.close()


class _Leader(NamedTuple):
    topic_id: UUID | None
    node: int
    epoch: int
    version: int
    """Of Fetch."""


_leaders: Final[WeakKeyDictionary[Cluster, dict[tuple[str, int], _Leader]]] = WeakKeyDictionary()
"""As last reported by each cluster. A task may have many small ranges; a broker that is no longer leader says so."""


class _RangeReader:
    fail_on_data_loss = True
    on_loss: Callable[[Loss], None] = staticmethod(log_loss)

    def __init__(
        self, cluster: Cluster, range: OffsetRange, asked: Wanted, isolation_level: int, settings: FetchSettings
    ) -> None:
        self._cluster = cluster
        self._range = range
        self._asked = asked
        self._isolation_level = isolation_level
        self._settings = settings
        self._position = range.start
        """The next offset to read; `end` when there is nothing more to read."""
        self._bytes_max = settings.partition_max_bytes
        self._buffer = FrameBuffer()
        self._topic_id: UUID | None = UUID(range.topic_id) if range.topic_id else None
        self._leader = self._remembered()
        self._connection: Connection | None = None
        """With a request in flight."""
        self._retry: RetryPolicy | None = None
        """None while there are no errors."""
        self._empty_answers = 0
        """In a row, although there should be records."""

    def rows(self) -> Iterator[Any]:
        end = self._range.end
        while self._position < end:
            answer = self._answer()
            if answer is None:
                continue
            asked = self._asked._replace(first_offset=self._position)
            batches = scan(answer.records, asked, check_crc=self._settings.check_crc)
            if not len(batches.positions):
                self._nothing_whole(answer)
                continue
            self._note_missing(answer, int(batches.base_offsets[0]))
            reached = batches.next_offset(self._position)
            if reached <= self._position:
                raise UnreadableRecords(
                    f"the leader of {self._place} sent offsets up to {reached - 1} when asked for {self._position}",
                    "look at the broker's log: its index for this partition may be damaged",
                )
            self._position = reached
            self._retry = None
            self._empty_answers = 0
            if reached < end:
                self._prefetch()
            for decoded in decode_batches(
                answer.records, batches, asked, aborted=answer.aborted, limits=self._settings.limits
            ):
                if decoded.batch is not None:
                    yield decoded.batch

    def close(self) -> None:
        """Close the connection if a response is outstanding."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _place(self) -> str:
        return f"{self._range.topic}-{self._range.partition}"

    # --- asking ---

    def _answer(self) -> Answer | None:
        """The response for the current position; None if there is none, and the caller must check again."""
        try:
            if self._connection is None:
                self._ask()
            if self._connection is None:
                return None
            response = self._connection.receive_in_place(self._buffer)
        except _UNREACHABLE as failure:
            self._disconnect()
            self._back_off(failure)
            return None
        self._connection = None
        answer = answer_of(response, self._range.partition)
        if answer.error is ErrorCode.none:
            return answer
        if answer.error is ErrorCode.offset_out_of_range:
            self._out_of_range()
        elif answer.error in _PASSING:
            self._leader = None
            self._back_off(Refused(answer.error, f"{self._place} cannot be read: {answer.error.name.upper()}"))
        else:
            raise Refused(answer.error, f"{self._place} cannot be read: {answer.error.name.upper()}")
        return None

    def _prefetch(self) -> None:
        try:
            self._ask()
        except _UNREACHABLE:
            self._disconnect()  # noticed here, handled after the current rows

    def _ask(self) -> None:
        leader = self._leader or self._find_leader()
        if leader is None:
            return
        self._leader = leader
        with self._within_deadline():
            connection = self._cluster.connection(leader.node)
        settings = self._settings
        partition = FetchPartition(
            partition=self._range.partition,
            current_leader_epoch=leader.epoch,
            fetch_offset=self._position,
            partition_max_bytes=self._bytes_max,
        )
        request = fetch_request(
            self._range.topic,
            self._topic_id,
            partition,
            isolation_level=self._isolation_level,
            max_wait_ms=settings.max_wait_ms,
            min_bytes=settings.min_bytes,
            max_bytes=max(settings.max_bytes, self._bytes_max),
        )
        connection.send_encoded("fetch", leader.version, encode_request("fetch", leader.version, request))
        self._connection = connection

    def _remembered(self) -> _Leader | None:
        """Only if the topic is known to be the same: otherwise it could be the leader of another one."""
        known = _leaders.get(self._cluster, {}).get((self._range.topic, self._range.partition))
        return known if known is not None and self._topic_id and known.topic_id == self._topic_id else None

    def _find_leader(self) -> _Leader | None:
        """None: there was none, and this has waited a moment; or the range has ended with a loss."""
        with self._within_deadline():
            topic = self._cluster.topics([self._range.topic]).get(self._range.topic)
        partitions = () if topic is None else topic.partitions
        found = next((one for one in partitions if one.partition_index == self._range.partition), None)
        if topic is None or found is None:
            # A new topic may be unknown for a moment.
            if not self._retry_policy(UNKNOWN_TOPIC_RETRY_S).wait():
                self._lose(Cause.GONE, None)
            return None
        topic_id = topic.topic_id if topic.topic_id != _NO_ID else None
        if self._topic_id is not None and topic_id is not None and topic_id != self._topic_id:
            self._lose(Cause.RECREATED, None)
            return None
        self._topic_id = self._topic_id or topic_id
        if found.leader_id < 0:
            self._back_off(Refused(ErrorCode.leader_not_available, f"{self._place} has no leader"))
            return None
        newest = BY_ID if self._topic_id else BY_NAME
        with self._within_deadline():
            version = self._cluster.version("fetch", node=found.leader_id, newest=newest)
        if version < BY_NAME:
            raise UnsupportedApi(
                f"the leader of {self._place} serves Fetch only up to version {version}", "Kafka 2.7 or later is needed"
            )
        leader = _Leader(self._topic_id, found.leader_id, found.leader_epoch, version)
        _leaders.setdefault(self._cluster, {})[self._range.topic, self._range.partition] = leader
        return leader

    def _disconnect(self) -> None:
        self.close()
        self._cluster.drop_broken(self._leader.node if self._leader else None)
        self._leader = None

    # --- waiting ---

    def _retry_policy(self, limit_s: float | None = None) -> RetryPolicy:
        if self._retry is None:
            total_s = self._settings.poll_timeout_ms / 1000
            self._retry = RetryPolicy(self._cluster.settings, total_s if limit_s is None else min(limit_s, total_s))
        return self._retry

    @contextmanager
    def _within_deadline(self) -> Iterator[None]:
        """Limit the retries of the cluster to the time that we have left."""
        own_s = self._cluster.retry_for_s
        left_s = self._retry.remaining_s if self._retry else self._settings.poll_timeout_ms / 1000
        self._cluster.retry_for_s = min(own_s, left_s)
        try:
            yield
        finally:
            self._cluster.retry_for_s = own_s

    def _back_off(self, failure: Exception) -> None:
        if not self._retry_policy().wait():
            raise failure

    def _nothing_whole(self, answer: Answer) -> None:
        """The response is empty: the records are not visible yet, or deleted. Or not even one batch fits."""
        size = len(answer.records)
        if size:
            needed = 2 * self._bytes_max
            if size >= LOG_OVERHEAD:
                (length,) = _BATCH_LENGTH.unpack_from(answer.records, _BATCH_LENGTH_POSITION)
                needed = LOG_OVERHEAD + length
            if not self._bytes_max < needed <= _INT32_MAX:
                raise UnreadableRecords(
                    f"the leader of {self._place} sent {size} bytes at offset {self._position}, not a complete batch",
                    "look at the broker's log, and at the partition with its tools (kafka-dump-log)",
                )
            self._bytes_max = needed
        elif self._is_hole(answer):
            self._position = min(self._visible_end(answer), self._range.end)
        elif not self._retry_policy().wait():
            self._gave_up_waiting()

    def _visible_end(self, answer: Answer) -> int:
        return answer.last_stable_offset if self._isolation_level == READ_COMMITTED else answer.high_watermark

    def _is_hole(self, answer: Answer) -> bool:
        """Whether the log continues but has no more records: compaction may have removed the last ones.

        Then the leader returns nothing although the log ends later, and does so again. A leader with tiered storage
        (remote.storage.enable) also returns nothing when it is slow.
        """
        if answer.throttle_ms or self._visible_end(answer) <= self._position:
            self._empty_answers = 0
            return False
        self._empty_answers += 1
        if self._empty_answers < _HOLE_ANSWERS:
            return False
        self._empty_answers = 0
        with self._within_deadline():
            return not may_be_tiered(self._cluster, self._range.topic)

    def _gave_up_waiting(self) -> None:
        earliest, latest = self._available()
        if not earliest <= self._position < latest:
            self._out_of_range()
            return
        raise UserError(
            f"Nothing came from {self._place} at offset {self._position} for {self._settings.poll_timeout_ms} ms, "
            f"although its records reach from {earliest} to {latest}.",
            "look at the broker's log; if it is only slow, raise the option kafkaConsumer.pollTimeoutMs",
        )

    # --- what is missing ---

    def _available(self) -> tuple[int, int]:
        place = (self._range.topic, self._range.partition)
        with self._within_deadline():
            earliest = self._cluster.offsets([place], EARLIEST)[place]
            latest = self._cluster.offsets([place], LATEST, isolation_level=self._isolation_level)[place]
        for offset in (earliest, latest):
            if offset.error is not ErrorCode.none:
                raise Refused(offset.error, f"the offsets of {self._place} cannot be fetched")
        return earliest.offset, latest.offset

    def _out_of_range(self) -> None:
        self._leader = None  # it may have changed with the log
        try:
            earliest, latest = self._available()
        except Refused as refusal:
            if refusal.code not in _PASSING:
                raise
            self._back_off(refusal)
            return
        if self._position < earliest:
            self._lose(Cause.EXPIRED, earliest)
        elif self._position >= latest:
            self._lose(Cause.CUT_OFF, None)
        else:  # it was gone and is back, so a new log is being written
            failure = Refused(ErrorCode.offset_out_of_range, f"{self._place} has no offset {self._position}")
            self._back_off(failure)

    def _note_missing(self, answer: Answer, first_offset: int) -> None:
        """Holes are normal; but records before the log's start were deleted."""
        if first_offset > self._position and answer.log_start_offset > self._position:
            self._lose(Cause.EXPIRED, min(answer.log_start_offset, first_offset))

    def _lose(self, cause: Cause, available: int | None) -> None:
        """Continue from `available`, or not at all."""
        until = self._range.end
        loss = Loss(self._range.topic, self._range.partition, self._position, available, cause, until)
        if self.fail_on_data_loss:
            raise DataLost([loss])
        self.on_loss(loss)
        self._position = until if available is None else min(available, until)
        self._retry = None
