"""Checks the acknowledgements in ShareAcknowledge and ShareFetch, and passes them to the share-partitions.

They are answered when they are stored. A partition's acknowledgements are applied all or nothing, up to two hundred
runs of offsets with one type. More are applied in parts: if a lock times out in between, the earlier parts stay.
"""

import asyncio
import uuid
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from barnabas.env.time_slices import TimeSlice
from barnabas.handlers.services import Cluster, Runtime
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_session import TopicIdPartition
from barnabas.share_partitions.core.delivery import SPANS_MAX
from barnabas.share_partitions.core.terms import GAP, REJECT, RENEW, Acknowledgement
from barnabas.share_partitions.share_partition import SharePartition
from barnabas.wire.errors import InvalidRequest, KafkaError, UnknownTopicId, UnknownTopicOrPartition

RENEW_SINCE = 2


class SentBatch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: tuple[int, ...]


class SentPartition(Protocol):
    partition_index: int

    @property
    def acknowledgement_batches(self) -> Sequence[SentBatch]: ...


class SentTopic(Protocol):
    topic_id: uuid.UUID | None

    @property
    def partitions(self) -> Sequence[SentPartition]: ...


class Acknowledger(NamedTuple):
    cluster: Cluster
    runtime: Runtime
    share: ShareServices
    group_id: str
    member_id: str
    api_version: int
    may_renew: bool
    """The request's `is_renew_ack`."""

    async def acknowledge(self, topics: Sequence[SentTopic]) -> dict[TopicIdPartition, KafkaError | None]:
        asked = {
            TopicIdPartition(topic.topic_id, sent.partition_index): sent.acknowledgement_batches
            for topic in topics
            for sent in topic.partitions
            if sent.acknowledgement_batches
        }
        outcomes = await asyncio.gather(*(self._acknowledge(where, sent) for where, sent in asked.items()))
        return dict(zip(asked, outcomes, strict=True))

    async def _acknowledge(self, where: TopicIdPartition, sent: Sequence[SentBatch]) -> KafkaError | None:
        time_slices = self.runtime.time_slices
        time_slice = time_slices.begin()
        try:
            runs = await self._runs(sent, time_slice)
            partition = self._partition(where)
            for begin in range(0, len(runs), SPANS_MAX):
                if time_slice.is_over():
                    await time_slices.next(time_slice)
                await partition.acknowledge(self.member_id, runs[begin : begin + SPANS_MAX])
        except KafkaError as error:
            return error
        return None

    def _partition(self, where: TopicIdPartition) -> SharePartition:
        topic = None if where.topic_id is None else self.cluster.image.topics.by_id.get(where.topic_id)
        if topic is None:
            raise UnknownTopicId("no topic has this id")
        if where.partition not in topic.partitions:
            raise UnknownTopicOrPartition(f"{topic.name} has no partition {where.partition}")
        partition = self.share.partitions.find(self.group_id, topic.id, where.partition)
        if partition is None:
            raise UnknownTopicOrPartition(
                f"no member of group {self.group_id} has fetched {topic.name}-{where.partition} from this broker"
            )
        return partition

    async def _runs(self, sent: Sequence[SentBatch], time_slice: TimeSlice) -> list[Acknowledgement]:
        """The validated acknowledgements, as runs of consecutive offsets with the same type."""
        kind_max = RENEW if self.api_version >= RENEW_SINCE else REJECT
        position = -1
        runs: list[Acknowledgement] = []
        for batch in sent:
            first, last, kinds = batch.first_offset, batch.last_offset, batch.acknowledge_types
            if first > last or first < position:
                raise InvalidRequest(f"offsets {first} to {last} are out of order")
            if not kinds or (len(kinds) > 1 and len(kinds) != last - first + 1):
                raise InvalidRequest(f"{len(kinds)} acknowledge types for offsets {first} to {last}")
            for run_first, run_last, kind in Acknowledgement(first, last, kinds).runs():
                if not GAP <= kind <= kind_max or (kind == RENEW and not self.may_renew):
                    raise InvalidRequest(f"acknowledge type {kind} is not allowed here")
                runs.append(Acknowledgement(run_first, run_last, (kind,)))
                if time_slice.is_over():
                    await self.runtime.time_slices.next(time_slice)
            position = last
        return runs


def check_member_id(member_id: str | None) -> str:
    if not member_id or len(member_id) > MEMBER_ID_CHARACTERS_MAX:
        raise InvalidRequest("Invalid member id in the request.")
    return member_id


def check_group_id(group_id: str | None) -> str:
    if group_id is None:
        raise InvalidRequest("Invalid group id in the request.")
    return group_id


MEMBER_ID_CHARACTERS_MAX = 36
"""A UUID: members choose their own ids."""
