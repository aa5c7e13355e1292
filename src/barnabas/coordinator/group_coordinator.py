"""The group coordinator: what handlers call, for all partitions of __consumer_offsets that this broker leads.

An error of the whole request is raised as a KafkaError; an error of one member, topic or group is returned. A group
belongs to the partition of __consumer_offsets that its id hashes to.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.core.key_hash import partition_of
from barnabas.coordinator.core.ports import CoordinatorLog, EndMarker, TransactionalProducer
from barnabas.coordinator.group.admin import Deleted, decide_delete_groups, list_groups
from barnabas.coordinator.group.classic.describe import describe_classic_group
from barnabas.coordinator.group.classic.heartbeat import ALIVE
from barnabas.coordinator.group.classic.join import Joining
from barnabas.coordinator.group.classic.leave import Left
from barnabas.coordinator.group.classic_protocol import (
    any_heartbeat,
    decide_any_join,
    decide_any_leave,
    decide_any_sync,
)
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.configs import GroupConfigs
from barnabas.coordinator.group.common.job import Job
from barnabas.coordinator.group.common.record_format import TEXT_BYTES_MAX, fits
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.common.topics import TopicCatalog
from barnabas.coordinator.group.consumer.describe import describe_consumer_group
from barnabas.coordinator.group.consumer.heartbeat import decide_consumer_heartbeat
from barnabas.coordinator.group.offsets.commit import Refused, decide_commit
from barnabas.coordinator.group.offsets.delete import decide_delete_offsets, decide_topics_deleted
from barnabas.coordinator.group.offsets.fetch import FetchedTopic, fetch_offsets
from barnabas.coordinator.group.offsets.txn_commit import decide_txn_commit
from barnabas.coordinator.group.shard import GroupShard
from barnabas.coordinator.held_requests import Pending
from barnabas.coordinator.runtime import CoordinatorRuntime
from barnabas.env import Clock, Workers
from barnabas.metadata.image import BROKER, EMPTY_IMAGE, GROUP, ClusterImage
from barnabas.wire.errors import CoordinatorLoadInProgress, InvalidGroupId, KafkaError
from barnabas.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.wire.messages.describe_groups import DescribedGroup
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.list_groups import ListedGroup
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

logger = logging.getLogger(__name__)

R = TypeVar("R")


class GroupCoordinator:
    def __init__(
        self,
        *,
        log: CoordinatorLog,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        settings: GroupSettings,
        partition_count: int,
        workers: Workers,
        image: Callable[[], ClusterImage] = lambda: EMPTY_IMAGE,
    ) -> None:
        self.partition_count = partition_count
        """Of __consumer_offsets. Must not change once a partition is loaded: groups would no longer be found."""
        self._clock = clock
        self._workers = workers
        self._jobs: dict[asyncio.Task[None], int] = {}
        """Each with its partition."""
        self.assignors = settings.consumer_assignors
        self.serves_consumer_protocol = settings.serves_consumer_protocol
        self.catalog = TopicCatalog(image)
        self.configs = GroupConfigs(
            settings,
            configs_of=lambda group_id: image().configs.of(GROUP, group_id),
            cluster_configs=lambda: image().configs.of(BROKER, ""),
        )
        self._runtime = CoordinatorRuntime(
            log=log,
            clock=clock,
            new_shard=lambda _: GroupShard(settings, random_bytes, self.catalog, self.configs),
            commit_timeout_ms=settings.offset_commit_timeout_ms,
            send=self._start_job,
        )

    def partition_for(self, group_id: str) -> int:
        return partition_of(group_id, self.partition_count)

    def _partition_of(self, group_id: str) -> int:
        """Like `partition_for`, for requests that need a group id. Offsets may be committed under an empty one."""
        if not group_id:
            raise InvalidGroupId("the group id is empty")
        return self._partition_of_any(group_id)

    def _partition_of_any(self, group_id: str) -> int:
        if not fits(group_id):
            raise InvalidGroupId(f"the group id has more than {TEXT_BYTES_MAX} bytes")
        return self.partition_for(group_id)

    def expect(self, partition: int) -> None:
        """This broker leads the partition and will `load` it shortly."""
        self._runtime.expect(partition)

    def has_held_requests(self, partition: int) -> bool:
        """Whether requests wait for the partition to be loaded."""
        return self._runtime.has_held_requests(partition)

    async def load(self, partition: int, leader_epoch: int = 0) -> None:
        """This broker leads the partition: read its log, then handle requests for its groups."""
        await self._runtime.load(partition, leader_epoch)

    def unload(self, partition: int) -> None:
        """Another broker leads the partition. Waiting requests get NOT_COORDINATOR."""
        for task in [task for task, of in self._jobs.items() if of == partition]:
            task.cancel()
        self._runtime.unload(partition)

    def _start_job(self, partition: int, job: Job) -> None:
        """Runs in a worker, one job per key at a time. The partition's current state takes the result."""
        shard = self._runtime.shard(partition)
        if job.key not in shard.jobs:
            shard.jobs.add(job.key)
            task = asyncio.ensure_future(self._do_job(partition, shard, job))
            self._jobs[task] = partition
            task.add_done_callback(self._jobs.pop)

    async def _do_job(self, partition: int, shard: GroupShard, job: Job) -> None:
        try:
            result = await self._workers.run(job.run)
        except Exception:
            logger.exception("the job %s of a group failed: this is a defect of Barnabas", job.key)
            return
        finally:
            shard.jobs.discard(job.key)
        with suppress(KafkaError):  # not the coordinator any more, or logged: the job is repeated
            await self._runtime.write(partition, lambda current, now: job.then(current, result, now))

    def close(self) -> None:
        for partition in self._runtime.partitions():
            self.unload(partition)

    async def join(self, request: JoinGroupRequest, client: ClientInfo, api_version: int) -> JoinGroupResponse:
        """Parked until the rebalance is complete. Raises `MemberIdRequired` with the id to join with."""
        joining = Joining.from_request(request, client, api_version)
        return await self._runtime.write(
            self._partition_of(request.group_id), lambda shard, now: decide_any_join(shard, joining, now)
        )

    async def sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        """Parked until the leader's assignment is stored."""
        return await self._runtime.write(
            self._partition_of(request.group_id), lambda shard, now: decide_any_sync(shard, request, now)
        )

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
        """Only moves a deadline, so it is answered at once unless the coordinator is loading."""
        answer = self._runtime.touch(
            self._partition_of(request.group_id),
            lambda shard: any_heartbeat(shard, request, self._clock.monotonic_ms()),
        )
        return _alive_while_loading(answer) if isinstance(answer, Pending) else answer

    async def leave(self, request: LeaveGroupRequest) -> Left:
        """`members` lists who leaves, also for old versions of the request."""
        return await self._runtime.write(
            self._partition_of(request.group_id), lambda shard, now: decide_any_leave(shard, request, now)
        )

    def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client: ClientInfo
    ) -> ConsumerGroupHeartbeatResponse | Pending[ConsumerGroupHeartbeatResponse]:
        """Answered at once if nothing has to be stored."""
        return self._runtime.submit(
            self._partition_of(request.group_id),
            lambda shard, now: decide_consumer_heartbeat(shard, request, client, now),
        )

    async def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        return await self._runtime.read(
            self.partition_for(group_id), lambda shard: describe_consumer_group(shard, group_id)
        )

    async def decide(self, group_id: str, decide: Callable[[GroupShard, Now], Decision[R]]) -> R:
        """For share groups, which have their own shell."""
        return await self._runtime.write(self._partition_of(group_id), decide)

    async def ask(self, group_id: str, ask: Callable[[GroupShard], R]) -> R:
        return await self._runtime.read(self._partition_of(group_id), ask)

    async def kind_of(self, group_id: str) -> str | None:
        """The type of a modern group; None if it is a classic one, or does not exist."""

        def ask(shard: GroupShard) -> str | None:
            group = shard.modern.get(group_id)
            return None if group is None else group.kind

        return await self._runtime.read(self.partition_for(group_id), ask)

    async def decide_everywhere(self, decide: Callable[[GroupShard, Now], Decision[None]]) -> None:
        for partition in self._runtime.active_partitions():
            with suppress(KafkaError):  # the append failed and was logged, or another broker leads it
                await self._runtime.write(partition, decide)

    def offset_commit(self, request: OffsetCommitRequest, api_version: int) -> Refused | Pending[Refused]:
        """Topics must have names; topic ids are stored too if given. Answered at once if nobody has to replicate it."""
        return self._runtime.submit(
            self._partition_of_any(request.group_id), lambda shard, now: decide_commit(shard, request, api_version, now)
        )

    def complete_transaction(self, partition: int, marker: EndMarker) -> Awaitable[None] | None:
        """Write a transaction marker: its offsets take effect, or are dropped. None: the marker is committed."""
        return self._runtime.submit(partition, lambda _, __: Decision(None, marker=marker))

    async def txn_offset_commit(self, request: TxnOffsetCommitRequest, producer: TransactionalProducer) -> Refused:
        """The group's partition of __consumer_offsets must already be part of the transaction."""
        return await self._runtime.write(
            self._partition_of(request.group_id), lambda shard, now: decide_txn_commit(shard, request, producer, now)
        )

    async def offset_fetch(
        self, request: OffsetFetchRequestGroup, *, require_stable: bool = False
    ) -> Sequence[FetchedTopic]:
        return await self._runtime.read(
            self.partition_for(request.group_id),
            lambda shard: fetch_offsets(shard, request, require_stable=require_stable),
        )

    async def offset_delete(self, request: OffsetDeleteRequest) -> dict[str, KafkaError]:
        return await self._runtime.write(
            self._partition_of(request.group_id), lambda shard, _: decide_delete_offsets(shard, request)
        )

    async def describe(self, group_id: str) -> DescribedGroup:
        return await self._runtime.read(
            self.partition_for(group_id), lambda shard: describe_classic_group(shard, group_id)
        )

    async def list(self, states: Iterable[str] = (), types: Iterable[str] = ()) -> Sequence[ListedGroup]:
        answers = await self._runtime.read_all(lambda shard: list_groups(shard, states, types))
        return [group for listed in answers for group in listed]

    async def delete(self, group_ids: Iterable[str]) -> Deleted:
        by_partition: dict[int, list[str]] = {}
        for group_id in group_ids:
            by_partition.setdefault(self.partition_for(group_id), []).append(group_id)
        deleted: Deleted = {}
        for partition, ids in by_partition.items():
            try:
                outcomes: Deleted = await self._runtime.write(partition, partial(_delete_groups, ids))
                deleted |= outcomes
            except KafkaError as error:
                deleted |= dict.fromkeys(ids, error)
        return deleted

    async def on_topics_deleted(self, topics: Collection[str]) -> None:
        """Delete their offsets. Those that cannot be deleted now expire later."""
        await self.decide_everywhere(lambda shard, _: decide_topics_deleted(shard, topics))


def _delete_groups(group_ids: Sequence[str], shard: GroupShard, _: Now) -> Decision[Deleted]:
    return decide_delete_groups(shard, group_ids)


async def _alive_while_loading(answer: Pending[HeartbeatResponse]) -> HeartbeatResponse:
    """Like Kafka: nobody knows yet whether it is a member, and its session starts once the group is loaded."""
    try:
        return await answer
    except CoordinatorLoadInProgress:
        return ALIVE
