"""OffsetCommit: outside of a transaction.

A member commits in its group's generation. A commit with generation -1 comes from an administrator, or from a consumer
that assigns its own partitions; the group must have no members then.
"""

import datetime
from typing import Final

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.classic.offset_access import check_commit as check_classic
from barnabas.coordinator.group.classic.sessions import keep_session
from barnabas.coordinator.group.classic.states import PREPARING_REBALANCE, STABLE
from barnabas.coordinator.group.consumer.offset_access import (
    CommittedTopic,
    Committer,
    check_commit,
)
from barnabas.coordinator.group.offsets.stored import NO_TIMESTAMP, CommittedOffset, TopicOffsets
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import (
    GroupIdNotFound,
    IllegalGeneration,
    KafkaError,
    OffsetMetadataTooLarge,
)
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic

_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
_GROUP_NOT_FOUND_SINCE: Final = 9
"""From this version of OffsetCommit on clients know GROUP_ID_NOT_FOUND."""


Refused = dict[tuple[str, int], KafkaError]
"""The errors of single partitions, by topic and index."""


def decide_commit(store: GroupStore, request: OffsetCommitRequest, api_version: int, now: Now) -> Decision[Refused]:
    """Topics must have names; topic ids are stored too if given. Returns the errors of those that are not committed."""
    group = store.groups.get(request.group_id)
    modern = store.modern.get(request.group_id)
    if modern is not None:
        committer = Committer(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
        check_commit(modern, committer, map(_to_check, request.topics), api_version)
    elif group is not None:
        check_classic(group, request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
        if group.state is STABLE or group.state is PREPARING_REBALANCE:
            keep_session(store, group.members[request.member_id], now.monotonic_ms)
    elif request.generation_id_or_member_epoch >= 0:
        if api_version >= _GROUP_NOT_FOUND_SINCE:
            raise GroupIdNotFound(f"there is no group {request.group_id}")
        raise IllegalGeneration(f"there is no group {request.group_id}")

    retention_ms = request.retention_time // _MILLISECOND
    expire_ms = NO_TIMESTAMP if retention_ms == -1 else now.wall_ms + retention_ms
    metadata_max = store.settings.offset_metadata_bytes_max
    records: list[TopicOffsets] = []
    refused: Refused = {}
    for topic in request.topics:
        offsets: dict[int, CommittedOffset] = {}
        for partition in topic.partitions:
            metadata = partition.committed_metadata or ""
            if len(metadata) > metadata_max:
                refused[topic.name, partition.partition_index] = metadata_too_large(metadata_max)
                continue
            offsets[partition.partition_index] = CommittedOffset._make(
                (
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    metadata,
                    now.wall_ms,
                    expire_ms,
                    topic.topic_id,
                )
            )
        if offsets:
            records.append(TopicOffsets(request.group_id, topic.name, offsets))
    return Decision(refused, list(records))


def metadata_too_large(metadata_max: int) -> OffsetMetadataTooLarge:
    return OffsetMetadataTooLarge(f"the metadata has more than {metadata_max} bytes (offset.metadata.max.bytes)")


def _to_check(topic: OffsetCommitRequestTopic) -> CommittedTopic:
    return CommittedTopic(topic.name, topic.topic_id, [each.partition_index for each in topic.partitions])
