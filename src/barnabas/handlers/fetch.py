"""Fetch (4-18): records from partitions this broker leads, up to the high watermark.

The answer leaves at once if there is enough (`min_bytes`), something to report (an error) or no time to wait; otherwise
the request watches its partitions until enough bytes were appended or `max_wait` is over. Bytes in the page cache are
read on the loop; bytes that would make it wait for the disk are read by a worker.

Isolation: who reads committed records only is given batches up to the last stable offset, with a list of the aborted
transactions among them, by which the client leaves records out. Kafka's list may hold more than needed, as ours may.
"""

import asyncio
from collections.abc import Awaitable
from typing import Final, NamedTuple

from barnabas.handlers.context import Broker, RequestContext
from barnabas.handlers.fetch_session import FetchPlan, TopicKey, Wanted
from barnabas.log.log_slice import LogSlice
from barnabas.log.partition_log import PartitionLog
from barnabas.replication.partition import Partition
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


class Cold(NamedTuple):
    """Bytes that are not in the page cache, and the answer they belong to."""

    answer: FetchedPartition
    slice: LogSlice


class FetchWait:
    """Watches partitions until enough bytes were appended."""

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


def handle(context: RequestContext, request: FetchRequest) -> FetchAnswer | Awaitable[FetchAnswer]:
    if request.max_bytes < 0 or request.min_bytes < 0 or request.isolation_level not in (0, READ_COMMITTED):
        return _refuse(request, context.api_version, ErrorCode.invalid_request)
    broker = context.broker
    try:
        plan = broker.fetch_sessions.plan(request, version=context.api_version, now_ms=broker.clock.now_ms())
    except KafkaError as error:
        return _refuse(request, context.api_version, error.code)
    fetch = Fetch(broker, request, plan)
    answers, size = fetch.read()
    if fetch.cold or (size < request.min_bytes and not fetch.must_answer and request.max_wait.total_seconds() > 0):
        return fetch.answer_later()
    return fetch.answer(answers)


def _refuse(request: FetchRequest, version: int, code: ErrorCode) -> FetchAnswer:
    """Versions before 7 have no place for an error of the whole request: every partition gets it."""
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

    def __init__(self, broker: Broker, request: FetchRequest, plan: FetchPlan) -> None:
        self._broker = broker
        self._request = request
        self._plan = plan
        self._names: dict[TopicKey, str] = {}
        self._partitions: list[Partition] = []
        self._max_bytes = min(request.max_bytes, broker.fetch_max_bytes)
        self._committed_only = request.isolation_level == READ_COMMITTED
        self._aborted: AbortedTransactions | None = () if self._committed_only else None
        self.must_answer = not plan.wanted
        self.cold: dict[int, Cold] = {}

    def read(self) -> tuple[list[FetchedPartition], int]:
        """One pass over all partitions: their answers, and how many bytes of records they hold."""
        answers: list[FetchedPartition] = []
        self._partitions.clear()
        self.cold.clear()
        remaining = self._max_bytes
        total = 0
        for wanted in self._plan.wanted:
            try:
                answer, size = self._read_one(len(answers), wanted, remaining, at_least_one_batch=total == 0)
            except KafkaError as error:
                self.must_answer = True
                answer, size = self._refusal(wanted, error), 0
            answers.append(answer)
            total += size
            remaining = max(remaining - size, 0)
        return answers, total

    def _read_one(
        self, position: int, wanted: Wanted, remaining: int, *, at_least_one_batch: bool
    ) -> tuple[FetchedPartition, int]:
        partition = self._broker.replicas.get(self._name_of(wanted.topic), wanted.index)
        partition.check_leader(wanted.leader_epoch)
        self._partitions.append(partition)
        log = partition.log
        stable_offset = log.last_stable_offset
        answer = FetchedPartition(
            wanted.index, 0, log.high_watermark, stable_offset, log.log_start_offset, self._aborted
        )
        max_bytes = min(wanted.max_bytes, remaining)
        if max_bytes <= 0 and not at_least_one_batch:
            return answer, 0
        located = log.locate(
            wanted.fetch_offset,
            max_bytes=max(max_bytes, 0),
            end_offset=stable_offset if self._committed_only else log.high_watermark,
            at_least_one_batch=at_least_one_batch,
        )
        if located is None:
            return answer, 0
        if self._committed_only and log.segments.has_aborted:
            answer = answer._replace(aborted=_aborted_in(log, located, stable_offset))
        records = located.try_read()
        if records is None:
            self.cold[position] = Cold(answer, located)
            return answer, located.size
        return answer._replace(records=records), len(records)

    def _name_of(self, topic: TopicKey) -> str:
        if isinstance(topic, str):
            self._names[topic] = topic
            return topic
        known = self._broker.image.topics.by_id.get(topic) if topic is not None else None
        if known is None:
            raise UnknownTopicId("no topic has this id: refresh the metadata")
        self._names[topic] = known.name
        return known.name

    def _refusal(self, wanted: Wanted, error: KafkaError) -> FetchedPartition:
        leader = None
        if isinstance(error, NotLeaderOrFollower):
            known = self._broker.image.topics.partition(self._names[wanted.topic], wanted.index)
            leader = (known.leader, known.leader_epoch) if known else None
        return FetchedPartition(wanted.index, int(error.code), aborted=self._aborted, leader=leader)

    def answer(self, answers: list[FetchedPartition]) -> FetchAnswer:
        return FetchAnswer(self._plan.topics(answers, self._names), session_id=self._plan.session_id)

    async def answer_later(self) -> FetchAnswer:
        clock = self._broker.clock
        deadline_ms = clock.monotonic_ms() + int(self._request.max_wait.total_seconds() * 1000)
        while True:
            # Read again in the turn in which we begin to watch: something may have been appended since the last look.
            answers, size = self.read()
            left_ms = deadline_ms - clock.monotonic_ms()
            enough = size >= self._request.min_bytes or self.must_answer
            if enough or left_ms <= 0 or self._broker.is_stopping:
                break
            await self._wait_for(self._request.min_bytes - size, left_ms)
        for position, cold in self.cold.items():
            answers[position] = await self._read_cold(cold)
        return self.answer(answers)

    async def _wait_for(self, missing_bytes: int, left_ms: int) -> None:
        wait = FetchWait(missing_bytes)
        for partition in self._partitions:
            partition.watch(wait, committed_only=self._committed_only)
        timer = self._broker.clock.call_later(left_ms, wait.wake)
        try:
            await wait.done
        finally:
            timer.cancel()
            for partition in self._partitions:
                partition.unwatch(wait)

    async def _read_cold(self, cold: Cold) -> FetchedPartition:
        try:
            return cold.answer._replace(records=await self._broker.workers.run(cold.slice.read))
        except KafkaError as error:
            return cold.answer._replace(error_code=int(error.code))
        except OSError:
            return cold.answer._replace(error_code=int(ErrorCode.kafka_storage_error))


def _aborted_in(log: PartitionLog, located: LogSlice, stable_offset: int) -> AbortedTransactions:
    bound = located.bounding_offset
    end_offset = stable_offset if bound is None else min(bound, stable_offset)
    return [(each.producer_id, each.first_offset) for each in log.aborted_transactions(located.offset, end_offset)]
