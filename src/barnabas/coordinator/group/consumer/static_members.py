"""Identifies members by member id and instance id, and checks their epochs."""

from dataclasses import replace
from typing import Any

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    OwnedPartitions,
)
from barnabas.coordinator.group.consumer.reconcile import Reported
from barnabas.wire.errors import FencedInstanceId, FencedMemberEpoch, UnknownMemberId, UnreleasedInstanceId


def known_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    if instance_id is None:
        return group.member(member_id)
    member = group.static_member(instance_id)
    if member is None:
        raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise FencedInstanceId(
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
        )
    return member


def check_epoch(member: ConsumerMember, epoch: int, reported: Reported) -> None:
    """The previous epoch is accepted too if the member has nothing of the new one: the answer may be lost."""
    if epoch == member.member_epoch:
        return
    if epoch > member.member_epoch:
        raise FencedMemberEpoch(
            f"The consumer group member has a greater member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin."
        )
    if epoch != member.previous_member_epoch or not _has_only(member.assigned, reported):
        raise FencedMemberEpoch(
            f"The consumer group member has a smaller member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin."
        )


def _has_only(assigned: OwnedPartitions, reported: Reported) -> bool:
    return reported is not None and all(
        topic.topic_id in assigned and all(partition in assigned[topic.topic_id] for partition in topic.partitions)
        for topic in reported
        if topic.topic_id is not None
    )


def replacing(
    group: ConsumerGroup, existing: ConsumerMember, member_id: str, decision: Decision[Any]
) -> ConsumerMember:
    """A static member is back: it takes over the target and the partitions of its old member id."""
    if existing.classic is None and existing.member_epoch != STATIC_LEAVE_EPOCH:
        raise UnreleasedInstanceId(
            f"Static member {member_id} with instance id {existing.instance_id} cannot join the group because the "
            f"instance id is owned by {existing.member_id} member."
        )
    return replaced(group, existing, member_id, decision)


def replaced(group: ConsumerGroup, existing: ConsumerMember, member_id: str, decision: Decision[Any]) -> ConsumerMember:
    member = replace(existing, member_id=member_id, member_epoch=JOIN_EPOCH, previous_member_epoch=0)
    decision.records += records.member_removal(group.group_id, existing.member_id)
    decision.records.append(records.member_metadata(group.group_id, member))
    decision.records.append(records.target(group.group_id, member_id, group.target_of(existing.member_id)))
    decision.records.append(records.current_assignment(group.group_id, member))
    return member
