"""One step of a member towards its target assignment.

    revokes     partitions that are not in its target: it owns them until it reports that it has stopped
    waits       for partitions in its target that another member has not revoked yet
    gets        partitions in its target that no member owns

It stays in its epoch until all revocations are done. Then it moves to the target epoch, in which it gets the remaining
partitions as they become free. So two members never own the same partition.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace

from barnabas.coordinator.group.common.partitions import Partitions
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import (
    NOTHING,
    ConsumerMember,
    MemberState,
    OwnedPartitions,
)
from barnabas.wire.errors import FencedMemberEpoch
from barnabas.wire.messages.consumer_group_heartbeat import TopicPartitions

Reported = Iterable[TopicPartitions] | None
"""The partitions the member reports; None if it reports none, because nothing has changed."""


def reconciled(
    group: ConsumerGroup,
    member: ConsumerMember,
    *,
    target_epoch: int,
    target: Partitions,
    topic_ids: frozenset[uuid.UUID],
    subscription_changed: bool,
    reported: Reported,
) -> ConsumerMember:
    """The member after this heartbeat; `topic_ids` are its current subscriptions."""
    if member.is_reconciled_to(target_epoch) and not subscription_changed:
        return member
    epoch = member.member_epoch
    match member.state:
        case MemberState.STABLE if epoch == target_epoch:
            return _without_unsubscribed(member, topic_ids, reported)
        case MemberState.UNREVOKED_PARTITIONS if _still_has(member.pending_revocation, reported):
            return _without_unsubscribed(member, topic_ids, reported) if subscription_changed else member
        case MemberState.UNKNOWN:
            if reported is None or tuple(reported):
                raise FencedMemberEpoch(
                    "the stored state of the member is not known here; it must abandon its partitions and join again"
                )
            epoch = target_epoch
    return _next(group, member, epoch, target_epoch, target, topic_ids, reported)


def _next(
    group: ConsumerGroup,
    member: ConsumerMember,
    epoch: int,
    target_epoch: int,
    target: Partitions,
    topic_ids: frozenset[uuid.UUID],
    reported: Reported,
) -> ConsumerMember:
    kept: dict[uuid.UUID, dict[int, int]] = {}
    to_revoke: dict[uuid.UUID, dict[int, int]] = {}
    to_assign: dict[uuid.UUID, list[int]] = {}
    waits = False
    for topic_id in dict.fromkeys((*target, *member.assigned)):
        wanted = target.get(topic_id, frozenset()) if topic_id in topic_ids else frozenset()
        assigned = member.assigned.get(topic_id, {})
        stays = {partition: since for partition, since in assigned.items() if partition in wanted}
        goes = {partition: since for partition, since in assigned.items() if partition not in wanted}
        owners = group.owners.get(topic_id, {})
        leaving = member.pending_revocation.get(topic_id, {})
        comes = []
        for partition in sorted(wanted - assigned.keys()):
            if partition in owners and partition not in leaving:
                waits = True
            else:
                comes.append(partition)
        if stays:
            kept[topic_id] = stays
        if goes:
            to_revoke[topic_id] = goes
        if comes:
            to_assign[topic_id] = comes
    if to_revoke and _still_has(to_revoke, reported):
        revoking = member.at_epoch(epoch, MemberState.UNREVOKED_PARTITIONS, kept)
        return replace(revoking, pending_revocation=to_revoke)
    for topic_id, partitions in to_assign.items():
        kept.setdefault(topic_id, {}).update(dict.fromkeys(partitions, target_epoch))
    return member.at_epoch(target_epoch, MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE, kept)


def _without_unsubscribed(
    member: ConsumerMember, topic_ids: frozenset[uuid.UUID], reported: Reported
) -> ConsumerMember:
    """Revoke partitions of topics it no longer subscribes to, without waiting for a new target."""
    gone = {topic_id: owned for topic_id, owned in member.assigned.items() if topic_id not in topic_ids}
    if not gone:
        return member
    kept = {topic_id: owned for topic_id, owned in member.assigned.items() if topic_id in topic_ids}
    to_revoke = _merged(member.pending_revocation, gone)
    if _still_has(to_revoke, reported):
        revoking = member.at_epoch(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept)
        return replace(revoking, pending_revocation=to_revoke)
    return replace(
        member.at_epoch(member.member_epoch, member.state, kept), pending_revocation=member.pending_revocation
    )


def _still_has(to_revoke: OwnedPartitions, reported: Reported) -> bool:
    if reported is None:
        return True
    return any(
        partition in to_revoke.get(topic.topic_id, {})
        for topic in reported
        if topic.topic_id is not None
        for partition in topic.partitions
    )


def _merged(first: OwnedPartitions, second: OwnedPartitions) -> OwnedPartitions:
    if first is NOTHING:
        return second
    merged: dict[uuid.UUID, Mapping[int, int]] = dict(first)
    for topic_id, owned in second.items():
        merged[topic_id] = {**merged.get(topic_id, {}), **owned}
    return merged
