"""ShareFetch (1-2): acquires records for one member of a share group, and takes acknowledgements along.

Acknowledgements come first, so that the records they release can be fetched at once. Then the request acquires the
available records, or waits for enough (`min_bytes`): for appends, released records and expired locks. Version 2 can
renew locks instead of fetching, and limit the answer to `max_records` (record-limit mode).

A partition whose state is still being loaded has no records yet. Kafka answers COORDINATOR_NOT_AVAILABLE, which its own
consumer treats as a bug; here the request waits.
"""

import asyncio
import uuid
from datetime import timedelta
from typing import Final, NamedTuple

from barnabas.env import Clock
from barnabas.handlers.context import RequestContext
from barnabas.handlers.endpoints import endpoint_for
from barnabas.handlers.services import Cluster, Reads, Runtime
from barnabas.handlers.share_acknowledgements import Acknowledger, check_group_id, check_member_id
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_session import FINAL_EPOCH, INITIAL_EPOCH, ShareSession, TopicIdPartition
from barnabas.handlers.share_version import check_share_groups
from barnabas.log.log_slice import LogSlice
from barnabas.share_partitions.share_partition import Acquisition, SharePartition
from barnabas.wire.errors import (
    ErrorCode,
    FencedLeaderEpoch,
    InvalidRequest,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollower,
    ShareSessionLimitReached,
    UnknownTopicId,
)
from barnabas.wire.messages.share_fetch import (
    AcquiredRecords,
    FetchPartition,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

RECORD_LIMIT: Final = 1
_NO_LEADER_HINT: Final = LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
"""Kafka sends 0 and 0, which franz-go takes for a hint that broker 0 leads the partition."""


async def handle(
    cluster: Cluster,
    runtime: Runtime,
    reads: Reads,
    share: ShareServices,
    context: RequestContext,
    request: ShareFetchRequest,
) -> ShareFetchResponse:
    try:
        return await _answer(cluster, runtime, reads, share, context, request)
    except ShareSessionLimitReached as error:
        await _sleep(runtime.wait_clock, request.max_wait)  # or the client would retry at once
        return _refusal(error)
    except KafkaError as error:
        return _refusal(error)


async def _answer(
    cluster: Cluster,
    runtime: Runtime,
    reads: Reads,
    share: ShareServices,
    context: RequestContext,
    request: ShareFetchRequest,
) -> ShareFetchResponse:
    check_share_groups(cluster)
    group_id, member_id = check_group_id(request.group_id), check_member_id(request.member_id)
    if request.is_renew_ack:
        _check_renewal(request)
    if request.max_bytes < 0 or request.min_bytes < 0 or request.max_records < 0:
        raise InvalidRequest("a limit is negative")
    session = _session(share, context, request, group_id, member_id)
    acknowledger = Acknowledger(cluster, runtime, share, group_id, member_id, context.api_version, request.is_renew_ack)
    acknowledged = await acknowledger.acknowledge(request.topics)
    answers: dict[TopicIdPartition, PartitionData] = {}
    if request.share_session_epoch == FINAL_EPOCH:
        await share.end(session)
    elif not request.is_renew_ack:
        answers = await ShareFetch(cluster, runtime, reads, share, request, session).fetch()
    for where, error in acknowledged.items():
        answer = answers.setdefault(
            where, PartitionData(partition_index=where.partition, current_leader=_NO_LEADER_HINT)
        )
        if error is not None:
            answers[where] = answer.replace(acknowledge_error_code=error.code, acknowledge_error_message=str(error))
    lock_duration_ms = share.partitions.rules_of(group_id).limits.lock_duration_ms
    return _response(cluster, context, lock_duration_ms, answers)


def _check_renewal(request: ShareFetchRequest) -> None:
    if request.max_bytes or request.min_bytes or request.max_records or request.max_wait:
        raise InvalidRequest("maxBytes, minBytes, maxRecords and maxWaitMs must be 0 if isRenewAck is true.")


def _session(
    share: ShareServices, context: RequestContext, request: ShareFetchRequest, group_id: str, member_id: str
) -> ShareSession:
    wanted = [
        TopicIdPartition(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions
    ]
    if request.share_session_epoch == INITIAL_EPOCH:
        session = share.sessions.open(
            group_id,
            member_id,
            wanted,
            has_acknowledgements=any(_acknowledges(each) for topic in request.topics for each in topic.partitions),
        )
        share.attach(session, context.client)
        return session
    session = share.sessions.resume(group_id, member_id, request.share_session_epoch)
    if request.share_session_epoch != FINAL_EPOCH:
        session.partitions.update(dict.fromkeys(wanted))
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                session.partitions.pop(TopicIdPartition(topic.topic_id, index), None)
    return session


def _acknowledges(partition: FetchPartition) -> bool:
    return bool(partition.acknowledgement_batches)


class LocatedRecords(NamedTuple):
    where: TopicIdPartition
    partition: SharePartition
    slice: LogSlice


class ShareWait:
    """Waits until one of the watched partitions and share-partitions has something new."""

    def __init__(self) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def appended(self, size: int) -> None:
        self.wake()

    def wake(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class ShareFetch:
    """Acquires the records of one request, and waits for them."""

    def __init__(
        self,
        cluster: Cluster,
        runtime: Runtime,
        reads: Reads,
        share: ShareServices,
        request: ShareFetchRequest,
        session: ShareSession,
    ) -> None:
        self._cluster = cluster
        self._runtime = runtime
        self._reads = reads
        self._share = share
        self._request = request
        self._session = session
        self._max_bytes = min(request.max_bytes, reads.max_bytes)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._partitions: dict[TopicIdPartition, SharePartition] = {}
        self._answers: dict[TopicIdPartition, PartitionData] = {}

    async def fetch(self) -> dict[TopicIdPartition, PartitionData]:
        if self._request.max_records == 0 or self._max_bytes == 0 or not self._session.partitions:
            return {}
        for where in self._session.rotated_partitions():
            try:
                self._partitions[where] = self._find(where)
            except KafkaError as error:
                self._refuse(where, error)
        clock = self._runtime.wait_clock
        deadline_ms = clock.monotonic_ms() + int(self._request.max_wait.total_seconds() * 1000)
        while True:
            found = self._locate()
            left_ms = deadline_ms - clock.monotonic_ms()
            # The client may be gone: its records would stay locked for nothing.
            if self._runtime.is_stopping or not self._session.is_open:
                return self._answers
            is_last = left_ms <= 0 or bool(self._answers)
            skipped_some = False
            if is_last or sum(each.slice.size for each in found) >= self._min_bytes:
                skipped_some = await self._acquire(found)
            if is_last or self._answers:
                return self._answers
            if not skipped_some:
                await self._wait(left_ms)

    def _find(self, where: TopicIdPartition) -> SharePartition:
        topic = None if where.topic_id is None else self._cluster.image.topics.by_id.get(where.topic_id)
        if topic is None:
            raise UnknownTopicId("no topic has this id: refresh the metadata")
        return self._share.partitions.get(self._session.group_id, topic.id, topic.name, where.partition)

    def _locate(self) -> list[LocatedRecords]:
        found: list[LocatedRecords] = []
        share_bytes = max(self._max_bytes // max(len(self._partitions), 1), 1)
        for where, partition in list(self._partitions.items()):
            try:
                partition.check()
                located = partition.locate(share_bytes, at_least_one_batch=not found)
            except KafkaError as error:
                self._refuse(where, error)
                continue
            if located is not None:
                found.append(LocatedRecords(where, partition, located))
        return found

    async def _acquire(self, found: list[LocatedRecords]) -> bool:
        """Whether records were skipped that cannot be acquired, so that there may be others after them."""
        records_left = self._request.max_records
        skipped_some = False
        for where, partition, located in found:
            if records_left <= 0:
                break
            before = partition.next_fetch_offset
            try:
                acquisition = await self._acquire_from(partition, located, records_left)
            except KafkaError as error:
                self._refuse(where, error)
                continue
            if acquisition.acquired:
                records_left -= sum(last - first + 1 for first, last, _ in acquisition.acquired)
                self._answers[where] = _records(where.partition, acquisition)
            skipped_some = skipped_some or partition.next_fetch_offset != before
        return skipped_some

    async def _acquire_from(self, partition: SharePartition, located: LogSlice, records_max: int) -> Acquisition:
        records = located.try_read()
        if records is None:
            try:
                records = await self._runtime.workers.run(located.read)
            except OSError as error:
                raise KafkaStorageError(str(error)) from error
            if not self._session.is_open:
                return Acquisition([], b"")
        return partition.acquire(
            self._session.member_id,
            located.offset,
            records,
            records_max=records_max,
            batch_size=self._request.batch_size,
            exact=self._request.share_acquire_mode == RECORD_LIMIT,
        )

    async def _wait(self, left_ms: int) -> None:
        wait = ShareWait()
        partitions = list(self._partitions.values())
        for partition in partitions:
            partition.watch(wait)
            partition.partition.watch(wait)
        timer = self._runtime.wait_clock.call_later(left_ms, wait.wake)
        try:
            await wait.done
        finally:
            timer.cancel()
            for partition in partitions:
                partition.unwatch(wait)
                partition.partition.unwatch(wait)

    def _refuse(self, where: TopicIdPartition, error: KafkaError) -> None:
        partition = self._partitions.pop(where, None)
        if partition is not None:
            self._reads.report_damage(partition.partition.topic_partition.topic, where.partition, error)
        self._answers[where] = PartitionData(
            partition_index=where.partition,
            error_code=error.code,
            error_message=str(error),
            current_leader=self._leader(where)
            if isinstance(error, NotLeaderOrFollower | FencedLeaderEpoch)
            else _NO_LEADER_HINT,
        )

    def _leader(self, where: TopicIdPartition) -> LeaderIdAndEpoch:
        topics = self._cluster.image.topics
        topic = None if where.topic_id is None else topics.by_id.get(where.topic_id)
        known = None if topic is None else topic.partitions.get(where.partition)
        if known is None:
            return _NO_LEADER_HINT
        return LeaderIdAndEpoch(leader_id=known.leader, leader_epoch=known.leader_epoch)


def _records(index: int, acquisition: Acquisition) -> PartitionData:
    return PartitionData(
        partition_index=index,
        current_leader=_NO_LEADER_HINT,
        records=acquisition.records,
        acquired_records=tuple(
            AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
            for first, last, count in acquisition.acquired
        ),
    )


def _response(
    cluster: Cluster, context: RequestContext, lock_duration_ms: int, answers: dict[TopicIdPartition, PartitionData]
) -> ShareFetchResponse:
    by_topic: dict[uuid.UUID | None, list[PartitionData]] = {}
    leaders: set[int] = set()
    for where, answer in answers.items():
        by_topic.setdefault(where.topic_id, []).append(answer)
        if answer.error_code in (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch):
            leaders.add(answer.current_leader.leader_id)
    return ShareFetchResponse(
        acquisition_lock_timeout=timedelta(milliseconds=lock_duration_ms),
        responses=tuple(
            ShareFetchableTopicResponse(topic_id=topic_id, partitions=tuple(partitions))
            for topic_id, partitions in by_topic.items()
        ),
        node_endpoints=tuple(node_endpoints(cluster, context, leaders)),
    )


def node_endpoints(cluster: Cluster, context: RequestContext, node_ids: set[int]) -> list[NodeEndpoint]:
    endpoints = []
    for node_id in sorted(node_ids):
        node = cluster.image.brokers.get(node_id)
        endpoint = None if node is None else endpoint_for(node, context.client)
        if node is not None and endpoint is not None:
            endpoints.append(NodeEndpoint(node_id=node_id, host=endpoint.host, port=endpoint.port, rack=node.rack))
    return endpoints


def _refusal(error: KafkaError) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=error.code, error_message=str(error))


async def _sleep(clock: Clock, duration: timedelta) -> None:
    over = asyncio.Event()
    timer = clock.call_later(int(duration.total_seconds() * 1000), over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()
