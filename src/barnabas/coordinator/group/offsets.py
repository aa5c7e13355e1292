"""Committed offsets: commit, fetch, delete.

A member commits in its group's generation. A commit with generation -1 comes from an administrator, or from a consumer
that assigns its own partitions; the group must have no members then.
"""

import datetime
import uuid
from collections.abc import Collection, Iterable
from typing import Final

from barnabas.coordinator.decision import Decision, Now
from barnabas.coordinator.group.classic_group import ClassicGroup
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.offset_access import (
    CommittedTopic,
    Committer,
    as_consumer_group,
    check_commit,
    check_fetch,
)
from barnabas.coordinator.group.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from barnabas.coordinator.group.store import GroupStore
from barnabas.coordinator.group.stored import NO_TIMESTAMP, CommittedOffset, OffsetRecord, TopicOffsets
from barnabas.wire.errors import (
    ErrorCode,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    IllegalGeneration,
    NonEmptyGroup,
    OffsetMetadataTooLarge,
    RebalanceInProgress,
    UnknownMemberId,
    UnstableOffsetCommit,
)
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
_GROUP_NOT_FOUND_SINCE: Final = 9
"""From this version of OffsetCommit on clients know GROUP_ID_NOT_FOUND."""
_NO_OFFSET: Final = -1


def decide_commit(
    store: GroupStore, request: OffsetCommitRequest, api_version: int, now: Now
) -> Decision[OffsetCommitResponse]:
    """Topics must have names; topic ids are stored too if given."""
    group = store.groups.get(request.group_id)
    modern = store.modern.get(request.group_id)
    if modern is not None:
        committer = Committer(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
        check_commit(modern, committer, map(_to_check, request.topics), api_version)
    elif group is not None:
        _validate_commit(group, request)
        if group.state is STABLE or group.state is PREPARING_REBALANCE:
            store.keep_session(group.members[request.member_id], now.monotonic_ms)
    elif request.generation_id_or_member_epoch >= 0:
        if api_version >= _GROUP_NOT_FOUND_SINCE:
            raise GroupIdNotFound(f"there is no group {request.group_id}")
        raise IllegalGeneration(f"there is no group {request.group_id}")

    retention_ms = request.retention_time // _MILLISECOND
    expire_ms = NO_TIMESTAMP if retention_ms == -1 else now.wall_ms + retention_ms
    metadata_max = store.settings.offset_metadata_bytes_max
    records: list[TopicOffsets] = []
    topics = []
    for topic in request.topics:
        offsets: dict[int, CommittedOffset] = {}
        answers = []
        for partition in topic.partitions:
            index = partition.partition_index
            metadata = partition.committed_metadata or ""
            if len(metadata) > metadata_max:
                answers.append(
                    OffsetCommitResponsePartition(partition_index=index, error_code=OffsetMetadataTooLarge.code)
                )
                continue
            offsets[index] = CommittedOffset._make(
                (
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    metadata,
                    now.wall_ms,
                    expire_ms,
                    topic.topic_id,
                )
            )
            answers.append(OffsetCommitResponsePartition(partition_index=index))
        if offsets:
            records.append(TopicOffsets(request.group_id, topic.name, offsets))
        topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(answers)))
    return Decision(OffsetCommitResponse(topics=tuple(topics)), list(records))


def _to_check(topic: OffsetCommitRequestTopic) -> CommittedTopic:
    return CommittedTopic(topic.name, topic.topic_id, [each.partition_index for each in topic.partitions])


def _validate_commit(group: ClassicGroup, request: OffsetCommitRequest) -> None:
    generation = request.generation_id_or_member_epoch
    if generation < 0 and group.state is EMPTY:
        return
    if generation < 0 and not request.member_id and request.group_instance_id is None:
        raise UnknownMemberId(f"group {group.group_id} has members; only they can commit its offsets")
    group.validated(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}; join again")
    if group.state is COMPLETING_REBALANCE:
        # It has no assignment in this generation yet, so it cannot have consumed anything.
        raise RebalanceInProgress("the group is rebalancing; commit when the member has its assignment")


def fetch_offsets(
    store: GroupStore, request: OffsetFetchRequestGroup, *, require_stable: bool = False
) -> OffsetFetchResponseGroup:
    """The requested offsets, or all if `topics` is None. A missing offset is -1, not an error.

    With `require_stable` an offset that an open transaction is about to change is an error: try again.
    """
    modern = store.modern.get(request.group_id)
    if isinstance(modern, ConsumerGroup):  # other types have no offsets, which is not an error
        check_fetch(modern, request.member_id, request.member_epoch)
    response = _fetch_committed(store, request)
    if require_stable and request.group_id in store.pending_offsets:
        return _without_unstable(store, response)
    return response


def _without_unstable(store: GroupStore, response: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    def stable(topic: str, partition: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartitions:
        index = partition.partition_index
        if not store.pending_offsets.is_unstable(response.group_id, topic, index):
            return partition
        return OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=UnstableOffsetCommit.code
        )

    topics = (
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(stable(topic.name, partition) for partition in topic.partitions),
        )
        for topic in response.topics
    )
    return OffsetFetchResponseGroup(group_id=response.group_id, topics=tuple(topics))


def _fetch_committed(store: GroupStore, request: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    by_topic = store.offsets.get(request.group_id, {})
    if request.topics is None:
        topics = [
            OffsetFetchResponseTopics(
                name=topic,
                partitions=tuple(_fetched(partition, offset) for partition, offset in partitions.items()),
            )
            for topic, partitions in by_topic.items()
        ]
    else:
        topics = []
        for asked in request.topics:
            partitions = by_topic.get(asked.name, {})
            found = (_of_same_topic(partitions.get(index), asked.topic_id) for index in asked.partition_indexes)
            topics.append(
                OffsetFetchResponseTopics(
                    name=asked.name,
                    topic_id=asked.topic_id,
                    partitions=tuple(map(_fetched, asked.partition_indexes, found)),
                )
            )
    return OffsetFetchResponseGroup(group_id=request.group_id, topics=tuple(topics))


def _of_same_topic(offset: CommittedOffset | None, topic_id: uuid.UUID | None) -> CommittedOffset | None:
    """An offset that was committed for a deleted topic of the same name does not count."""
    if offset is None or topic_id is None or offset.topic_id is None or offset.topic_id == topic_id:
        return offset
    return None


def _fetched(partition: int, offset: CommittedOffset | None) -> OffsetFetchResponsePartitions:
    if offset is None:
        return OffsetFetchResponsePartitions(partition_index=partition, committed_offset=_NO_OFFSET, metadata="")
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )


def decide_delete_offsets(store: GroupStore, request: OffsetDeleteRequest) -> Decision[OffsetDeleteResponse]:
    group = _with_offsets(store, request.group_id)
    records: list[OffsetRecord] = []
    topics = []
    for topic in request.topics:
        subscribed = group.is_subscribed_to(topic.name)
        if not subscribed:
            records += _tombstones(store, group.group_id, topic)
        error = GroupSubscribedToTopic.code if subscribed else ErrorCode.none
        partitions = tuple(
            OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=error)
            for partition in topic.partitions
        )
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return Decision(OffsetDeleteResponse(topics=tuple(topics)), list(records))


def _with_offsets(store: GroupStore, group_id: str) -> ClassicGroup | ConsumerGroup:
    modern = store.modern.get(group_id)
    if modern is not None:
        return as_consumer_group(modern)
    group = store.groups.get(group_id)
    if group is None:
        raise GroupIdNotFound(f"there is no group {group_id}")
    if group.state is not EMPTY and not group.is_consumer_group:
        raise NonEmptyGroup(f"group {group_id} has members, and their subscriptions cannot be read; stop them first")
    return group


def _tombstones(store: GroupStore, group_id: str, topic: OffsetDeleteRequestTopic) -> Iterable[OffsetRecord]:
    committed = store.offsets.get(group_id, {}).get(topic.name, {})
    for partition in topic.partitions:
        index = partition.partition_index
        if index in committed or store.pending_offsets.is_unstable(group_id, topic.name, index):
            yield OffsetRecord(group_id, topic.name, partition.partition_index, None)


def decide_topics_deleted(store: GroupStore, topics: Collection[str]) -> Decision[None]:
    decision: Decision[None] = Decision(None, atomic=False)
    for group_id, by_topic in store.offsets.items():
        for topic in topics:
            for partition in by_topic.get(topic, ()):
                decision.records.append(OffsetRecord(group_id, topic, partition, None))
    for group_id in store.pending_offsets.groups():
        committed = store.offsets.get(group_id, {})
        for topic, partition in store.pending_offsets.places(group_id):
            if topic in topics and partition not in committed.get(topic, ()):
                decision.records.append(OffsetRecord(group_id, topic, partition, None))
    return decision
