"""Who may commit and fetch the offsets of a modern group.

A member commits with its epoch, or with an older one, if it has owned the partitions since then: the answer with the
new epoch may still be on its way. An administrator can commit while the group has no members.
"""

import uuid
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from barnabas.coordinator.group.common.modern_group import ModernGroup
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import ConsumerMember
from barnabas.wire.errors import (
    GroupIdNotFound,
    IllegalGeneration,
    KafkaError,
    StaleMemberEpoch,
    UnsupportedVersion,
)

_COMMIT_VERSION_MIN: Final = 9
"""From this version of OffsetCommit on clients know STALE_MEMBER_EPOCH."""
_NO_EPOCH: Final = -1


class Committer(NamedTuple):
    member_id: str
    instance_id: str | None
    epoch: int


class CommittedTopic(NamedTuple):
    name: str
    topic_id: uuid.UUID | None
    partitions: Iterable[int]


def as_consumer_group(group: ModernGroup[Any]) -> ConsumerGroup:
    if not isinstance(group, ConsumerGroup):
        raise GroupIdNotFound(f"Group {group.group_id} is not a consumer group.")
    return group


def check_commit(
    group: ModernGroup[Any], committer: Committer, topics: Iterable[CommittedTopic], api_version: int
) -> None:
    group = as_consumer_group(group)
    if committer.epoch < 0 and not group.members:
        return
    member = group.member(committer.member_id)
    if member.classic is None and api_version < _COMMIT_VERSION_MIN:
        raise UnsupportedVersion(
            f"OffsetCommit version {_COMMIT_VERSION_MIN} or above must be used by members using the consumer group "
            "protocol"
        )
    _check_epoch(member, committer.epoch, topics)


def check_txn_commit(group: ModernGroup[Any], committer: Committer, topics: Iterable[CommittedTopic]) -> None:
    """The producer epoch fences transactions, so a client may leave out the member."""
    group = as_consumer_group(group)
    if committer.epoch < 0 and not group.members:
        return
    if committer.epoch == _NO_EPOCH and not committer.member_id and committer.instance_id is None:
        return
    try:
        _check_epoch(group.member(committer.member_id), committer.epoch, topics)
    except StaleMemberEpoch as error:
        raise IllegalGeneration(str(error)) from None  # the only fitting error that TxnOffsetCommit has


def _check_epoch(member: ConsumerMember, epoch: int, topics: Iterable[CommittedTopic]) -> None:
    if epoch == member.member_epoch:
        return
    if epoch > member.member_epoch:
        raise _stale(member, f"Received member epoch {epoch} is newer than current member epoch {member.member_epoch}.")
    for topic in topics:
        for partition in topic.partitions:
            since = member.owns(topic.topic_id, partition)
            if since is None:
                raise _stale(
                    member, f"Partition {topic.name}-{partition} is not assigned or pending revocation for member."
                )
            if epoch < since:
                raise _stale(
                    member,
                    f"Received member epoch {epoch} is older than assignment epoch {since} for partition "
                    f"{topic.name}-{partition}.",
                )


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id or "")
    if epoch != member.member_epoch:
        raise _stale(
            member, f"The received member epoch {epoch} does not match the expected member epoch {member.member_epoch}."
        )


def _stale(member: ConsumerMember, message: str) -> KafkaError:
    return StaleMemberEpoch(message) if member.classic is None else IllegalGeneration(message)
