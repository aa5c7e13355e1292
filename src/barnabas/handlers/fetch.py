"""Fetch (4-18): records from partitions this broker leads, up to the high watermark.

The answer is sent at once if it has enough bytes (`min_bytes`), if there is an error to report, or if `max_wait` is 0.
Otherwise the request watches its partitions until enough bytes were appended or `max_wait` is over. Few bytes that are
in the page cache are read on the event loop; larger reads and reads from disk are left to a worker. An answer has
16 MB at most; Kafka's only limits are the request's and `fetch.max.bytes`.

A read_committed fetch returns batches up to the last stable offset, and a list of the aborted transactions in them, so
that the client can filter. The list may contain more transactions than needed, as Kafka's may.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from typing import Final, NamedTuple

from barnabas.handlers.context import RequestContext
from barnabas.handlers.fetch_quota import FetchQuota
from barnabas.handlers.fetch_session import FetchPlan, RequestedPartition, TopicKey
from barnabas.handlers.pending import MayFollow, WaitingAnswer
from barnabas.handlers.services import Cluster, Quotas, Reads, Runtime
from barnabas.log.log_slice import LogSlice
from barnabas.log.partition_log import PartitionLog
from barnabas.replication.partition import Partition
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import (
    ErrorCode,
    KafkaError,
    NotLeaderOrFollower,
    UnknownTopicId,
)
from barnabas.wire.fetch_response import AbortedTransactions, FetchAnswer, FetchedPartition, FetchedTopic
from barnabas.wire.messages.fetch import FetchRequest

READ_COMMITTED: Final = 1
_WHOLE_ERROR_SINCE: Final = 7
PARTITIONS_AT_ONCE: Final = 300
"""Read in a millisecond or two. A larger fetch is read in time slices."""
COPIED_BYTES_MAX: Final = 8 * 1024 * 1024
"""How much of one answer the event loop takes from the page cache: four milliseconds, if the socket has no room at all
and all of it must be copied. A worker copies the rest."""
ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
"""An answer stays in memory until the client has read it, and a client may be slow. A single larger batch is sent all
the same."""


class ColdRead(NamedTuple):
    """A read for a worker: the bytes are not in the page cache, or too many to copy on the event loop."""

    answer: FetchedPartition
    slice: LogSlice


class FetchWait:
    """Waits until enough bytes were appended to the watched partitions."""

    def __init__(self, missing_bytes: int) -> None:
        self._missing_bytes = missing_bytes
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def appended(self, size: int) -> None:
        self._missing_bytes -= size
        if self._missing_bytes <= 0:
            self.wake()

    def wake(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


def handle(
    cluster: Cluster,
    runtime: Runtime,
    quotas: Quotas,
    replicas: Replicas,
    reads: Reads,
    context: RequestContext,
    request: FetchRequest,
) -> FetchAnswer | Awaitable[FetchAnswer]:
    if request.max_bytes < 0 or request.min_bytes < 0 or request.isolation_level not in (0, READ_COMMITTED):
        return _refuse(request, context.api_version, ErrorCode.invalid_request)
    try:
        plan = reads.sessions.plan(request, version=context.api_version, now_ms=runtime.clock.now_ms())
    except KafkaError as error:
        return _refuse(request, context.api_version, error.code)
    quota = None if quotas.clients is None else FetchQuota(quotas.clients, context.client_id)
    fetch = Fetch(cluster, runtime, replicas, reads, request, plan, quota)
    if len(plan.partitions) > PARTITIONS_AT_ONCE:
        return fetch.answer_in_slices()
    answers, size = fetch.read()
    if fetch.cold_reads:
        return fetch.answer_later()
    if size < fetch.min_bytes and not fetch.must_answer and request.max_wait.total_seconds() > 0:
        return WaitingAnswer(fetch.answer_later(), MayFollow.ALL)
    return fetch.answer(answers)


def _refuse(request: FetchRequest, version: int, code: ErrorCode) -> FetchAnswer:
    """Versions before 7 have no request-level error code: every partition gets the error."""
    if version >= _WHOLE_ERROR_SINCE:
        return FetchAnswer((), error_code=int(code))
    return FetchAnswer(
        [
            FetchedTopic(topic.topic, None, [FetchedPartition(each.partition, int(code)) for each in topic.partitions])
            for topic in request.topics
        ]
    )


class Fetch:
    """One request while it is being answered."""

    def __init__(
        self,
        cluster: Cluster,
        runtime: Runtime,
        replicas: Replicas,
        reads: Reads,
        request: FetchRequest,
        plan: FetchPlan,
        quota: FetchQuota | None,
    ) -> None:
        self._cluster = cluster
        self._runtime = runtime
        self._replicas = replicas
        self._reads = reads
        self._request = request
        self._plan = plan
        self._names: dict[TopicKey, str] = {}
        self._partitions: list[Partition] = []
        self._max_bytes = min(request.max_bytes, reads.max_bytes, ANSWER_BYTES_MAX)
        self.min_bytes = min(request.min_bytes, ANSWER_BYTES_MAX)
        self._quota = quota
        if quota is not None:
            self._max_bytes = quota.limited(self._max_bytes)
            self.min_bytes = min(self.min_bytes, self._max_bytes)
        self._committed_only = request.isolation_level == READ_COMMITTED
        self._aborted: AbortedTransactions | None = () if self._committed_only else None
        self.must_answer = not plan.partitions
        self.cold_reads: dict[int, ColdRead] = {}
        self._answers: list[FetchedPartition | None] = []
        """In the order of the plan's partitions. None: nothing has changed there, so an incremental answer omits it."""
        self._size = 0
        self._copied_bytes = 0

    def read(self) -> tuple[list[FetchedPartition | None], int]:
        """One pass over all partitions: their answers, and how many bytes of records they hold."""
        for _ in self._reading():
            pass
        return self._answers, self._size

    def _reading(self, wait: FetchWait | None = None) -> Iterator[None]:
        """A pass that may be interrupted after each partition. `wait` watches each one from before it is read."""
        answers: list[FetchedPartition | None] = []
        self._answers = answers
        self._size = self._copied_bytes = 0
        self._partitions.clear()
        self.cold_reads.clear()
        remaining = self._max_bytes
        image, is_incremental = self._cluster.image, self._plan.is_incremental
        for wanted in self._plan.partitions:
            if is_incremental and (idle := wanted.idle_replica(image)) is not None:
                self._partitions.append(idle)
                if wait is not None:
                    idle.watch(wait, committed_only=self._committed_only)
                answers.append(None)
                yield
                continue
            try:
                answer, size = self._read_one(len(answers), wanted, remaining, wait)
            except KafkaError as error:
                self.must_answer = True
                answer, size = self._refusal(wanted, error), 0
            answers.append(answer)
            self._size += size
            remaining = max(remaining - size, 0)
            yield

    def _read_one(
        self, position: int, wanted: RequestedPartition, remaining: int, wait: FetchWait | None
    ) -> tuple[FetchedPartition, int]:
        at_least_one_batch = self._size == 0
        partition = self._replicas.get(self._name_of(wanted.topic), wanted.index)
        partition.check_leader(wanted.leader_epoch)
        wanted.resolved(partition, self._cluster.image)
        self._partitions.append(partition)
        log = partition.log
        if wait is not None:
            partition.watch(wait, committed_only=self._committed_only)
        stable_offset, high_watermark = log.last_stable_offset, log.high_watermark
        answer = FetchedPartition(wanted.index, 0, high_watermark, stable_offset, log.log_start_offset, self._aborted)
        end_offset = stable_offset if self._committed_only else high_watermark
        if wanted.fetch_offset == end_offset and log.health.error is None:
            return answer, 0  # as for most partitions of most fetches
        max_bytes = min(wanted.max_bytes, remaining)
        if max_bytes <= 0 and not at_least_one_batch:
            return answer, 0
        located = log.locate(
            wanted.fetch_offset,
            max_bytes=max(max_bytes, 0),
            end_offset=end_offset,
            at_least_one_batch=at_least_one_batch,
        )
        if located is None:
            return answer, 0
        if self._committed_only and log.segments.has_aborted:
            answer = answer._replace(aborted=_aborted_in(log, located, stable_offset))
        is_short = self._copied_bytes + located.size <= COPIED_BYTES_MAX
        records = located.try_send() if is_short else None
        if records is None:
            self.cold_reads[position] = ColdRead(answer, located)
            return answer, located.size
        self._copied_bytes += len(records)
        return answer.with_records(records), len(records)

    def _name_of(self, topic: TopicKey) -> str:
        if isinstance(topic, str):
            self._names[topic] = topic
            return topic
        known = self._cluster.image.topics.by_id.get(topic) if topic is not None else None
        if known is None:
            raise UnknownTopicId("no topic has this id: refresh the metadata")
        self._names[topic] = known.name
        return known.name

    def _refusal(self, wanted: RequestedPartition, error: KafkaError) -> FetchedPartition:
        leader = None
        if wanted.topic in self._names:
            self._reads.report_damage(self._names[wanted.topic], wanted.index, error)
        if isinstance(error, NotLeaderOrFollower):
            known = self._cluster.image.topics.partition(self._names[wanted.topic], wanted.index)
            leader = (known.leader, known.leader_epoch) if known else None
        return FetchedPartition(wanted.index, int(error.code), aborted=self._aborted, leader=leader)

    def answer(self, answers: list[FetchedPartition | None]) -> FetchAnswer:
        if self._quota is not None and (throttle_ms := self._quota.throttle_ms(answers)):
            session_id = self._reads.sessions.keep_without_answer(self._plan)
            return FetchAnswer((), session_id=session_id, throttle_time_ms=throttle_ms)
        return FetchAnswer(self._plan.topics(answers, self._names), session_id=self._plan.session_id)

    async def answer_later(self) -> FetchAnswer:
        clock = self._runtime.wait_clock
        deadline_ms = clock.monotonic_ms() + int(self._request.max_wait.total_seconds() * 1000)
        while True:
            # Read again right before watching: something may have been appended since the last read.
            self.read()
            left_ms = deadline_ms - clock.monotonic_ms()
            if self._must_answer_now(left_ms):
                return await self._answer_with_cold_reads()
            wait = FetchWait(self.min_bytes - self._size)
            for partition in self._partitions:
                partition.watch(wait, committed_only=self._committed_only)
            await self._wait_for(wait, left_ms)

    async def answer_in_slices(self) -> FetchAnswer:
        """As `answer_later`, for many partitions: each is watched from the moment it is read."""
        clock, time_slices = self._runtime.wait_clock, self._runtime.time_slices
        deadline_ms = clock.monotonic_ms() + int(self._request.max_wait.total_seconds() * 1000)
        time_slice = await time_slices.wait()
        while True:
            wait = FetchWait(self.min_bytes)
            try:
                for _ in self._reading(wait):
                    if time_slice.is_over():
                        await time_slices.next(time_slice)
                left_ms = deadline_ms - clock.monotonic_ms()
                if not self._must_answer_now(left_ms):
                    wait.appended(self._size)
                    await self._wait_for(wait, left_ms)
                    continue
            finally:
                self._unwatch(wait)
            return await self._answer_with_cold_reads()

    def _must_answer_now(self, left_ms: int) -> bool:
        return self._size >= self.min_bytes or self.must_answer or left_ms <= 0 or self._runtime.is_stopping

    async def _wait_for(self, wait: FetchWait, left_ms: int) -> None:
        timer = self._runtime.wait_clock.call_later(left_ms, wait.wake)
        try:
            await wait.done
        finally:
            timer.cancel()
            self._unwatch(wait)

    def _unwatch(self, wait: FetchWait) -> None:
        for partition in self._partitions:
            partition.unwatch(wait)

    async def _answer_with_cold_reads(self) -> FetchAnswer:
        if self.cold_reads:
            cold = list(self.cold_reads.values())
            read = await self._runtime.workers.run(lambda: [_read(each) for each in cold])
            for position, (answer, error) in zip(self.cold_reads, read, strict=True):
                self._answers[position] = answer
                if error is not None:
                    wanted = self._plan.partitions[position]
                    self._reads.report_damage(self._names[wanted.topic], wanted.index, error)
        return self.answer(self._answers)


def _read(cold: ColdRead) -> tuple[FetchedPartition, KafkaError | None]:
    """Blocks on the disk: run it on a worker."""
    try:
        return cold.answer.with_records(cold.slice.read()), None
    except KafkaError as error:
        return cold.answer._replace(error_code=int(error.code)), error
    except OSError:
        return cold.answer._replace(error_code=int(ErrorCode.kafka_storage_error)), None


def _aborted_in(log: PartitionLog, located: LogSlice, stable_offset: int) -> AbortedTransactions:
    bound = located.upper_bound_offset
    end_offset = stable_offset if bound is None else min(bound, stable_offset)
    return [(each.producer_id, each.first_offset) for each in log.aborted_transactions(located.offset, end_offset)]
