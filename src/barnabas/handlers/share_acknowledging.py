"""Acknowledgements, as ShareAcknowledge and ShareFetch carry them: checked, handed to the share-partitions, answered.

Per partition it is all or nothing. An answer means that what was acknowledged is remembered.
"""

import asyncio
import uuid
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from barnabas.handlers.context import Broker
from barnabas.handlers.share_session import SharedPartition
from barnabas.replication.share.core import GAP, REJECT, RENEW, Acknowledgement
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
    broker: Broker
    group_id: str
    member_id: str
    api_version: int
    may_renew: bool
    """The request says that it renews."""

    async def acknowledge(self, topics: Sequence[SentTopic]) -> dict[SharedPartition, KafkaError | None]:
        asked = {
            SharedPartition(topic.topic_id, sent.partition_index): sent.acknowledgement_batches
            for topic in topics
            for sent in topic.partitions
            if sent.acknowledgement_batches
        }
        outcomes = await asyncio.gather(*(self._acknowledge(where, sent) for where, sent in asked.items()))
        return dict(zip(asked, outcomes, strict=True))

    async def _acknowledge(self, where: SharedPartition, sent: Sequence[SentBatch]) -> KafkaError | None:
        try:
            checked = self._checked(sent)
            topic = None if where.topic_id is None else self.broker.image.topics.by_id.get(where.topic_id)
            if topic is None:
                raise UnknownTopicId("no topic has this id")
            if where.partition not in topic.partitions:
                raise UnknownTopicOrPartition(f"{topic.name} has no partition {where.partition}")
            partition = self.broker.share.partitions.find(self.group_id, topic.id, where.partition)
            if partition is None:
                raise UnknownTopicOrPartition(
                    f"nobody of group {self.group_id} has read {topic.name}-{where.partition} here"
                )
            await partition.acknowledge(self.member_id, checked)
        except KafkaError as error:
            return error
        return None

    def _checked(self, sent: Sequence[SentBatch]) -> list[Acknowledgement]:
        kind_max = RENEW if self.api_version >= RENEW_SINCE else REJECT
        position = -1
        checked = []
        for batch in sent:
            first, last, kinds = batch.first_offset, batch.last_offset, batch.acknowledge_types
            if first > last or first < position:
                raise InvalidRequest(f"offsets {first} to {last} are out of order")
            if not kinds or (len(kinds) > 1 and len(kinds) != last - first + 1):
                raise InvalidRequest(f"{len(kinds)} acknowledge types for offsets {first} to {last}")
            if not all(GAP <= kind <= kind_max for kind in kinds) or (RENEW in kinds and not self.may_renew):
                raise InvalidRequest(f"acknowledge types {sorted(set(kinds))} are not all allowed here")
            checked.append(Acknowledgement(first, last, kinds))
            position = last
        return checked


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
