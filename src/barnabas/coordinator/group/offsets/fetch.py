"""OffsetFetch: the committed offsets of a group."""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.offset_access import check_fetch
from barnabas.coordinator.group.offsets.stored import CommittedOffset
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import KafkaError, UnstableOffsetCommit
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup


class FetchedTopic(NamedTuple):
    name: str
    topic_id: uuid.UUID | None
    """As in the request."""
    offsets: Sequence[tuple[int, CommittedOffset | KafkaError | None]]
    """By partition. None: nothing is committed, which is not an error."""


def fetch_offsets(
    store: GroupStore, request: OffsetFetchRequestGroup, *, require_stable: bool = False
) -> list[FetchedTopic]:
    """The requested offsets, or all if `topics` is None.

    With `require_stable` an offset that an open transaction is about to change is an error: try again.
    """
    group_id = request.group_id
    modern = store.modern.get(group_id)
    if isinstance(modern, ConsumerGroup):  # other types have no offsets, which is not an error
        check_fetch(modern, request.member_id, request.member_epoch)
    by_topic = store.offsets.get(group_id, {})
    if request.topics is None:
        fetched = [FetchedTopic(name, None, list(offsets.items())) for name, offsets in by_topic.items()]
    else:
        fetched = []
        for asked in request.topics:
            offsets = by_topic.get(asked.name, {})
            found = [(index, _of_same_topic(offsets.get(index), asked.topic_id)) for index in asked.partition_indexes]
            fetched.append(FetchedTopic(asked.name, asked.topic_id, found))
    if require_stable and group_id in store.pending_offsets:
        return [_without_unstable(store, group_id, topic) for topic in fetched]
    return fetched


def _without_unstable(store: GroupStore, group_id: str, topic: FetchedTopic) -> FetchedTopic:
    unstable = UnstableOffsetCommit("an open transaction is about to change the offset; try again")
    is_unstable = store.pending_offsets.is_unstable
    return topic._replace(
        offsets=[
            (index, unstable if is_unstable(group_id, topic.name, index) else offset) for index, offset in topic.offsets
        ]
    )


def _of_same_topic(offset: CommittedOffset | None, topic_id: uuid.UUID | None) -> CommittedOffset | None:
    """An offset that was committed for a deleted topic of the same name does not count."""
    if offset is None or topic_id is None or offset.topic_id is None or offset.topic_id == topic_id:
        return offset
    return None
