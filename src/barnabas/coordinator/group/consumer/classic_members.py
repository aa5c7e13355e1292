"""Members of the classic protocol in a consumer group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

To such a member the group looks like a classic one in which it is never the leader. Its member epoch is its generation.
A heartbeat tells it to join again; JoinGroup reconciles like a heartbeat of the new protocol and is answered at once;
SyncGroup returns the partitions. The member reports the partitions it owns in its subscription.
"""

from dataclasses import replace
from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.classic.heartbeat import ALIVE
from barnabas.coordinator.group.classic.join import Joining, MemberIdAssigned
from barnabas.coordinator.group.classic.leave import Left
from barnabas.coordinator.group.classic.member import UNKNOWN_MEMBER_ID
from barnabas.coordinator.group.classic.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    ProtocolAssignment,
    Subscription,
    encode_assignment,
    parse_subscription,
)
from barnabas.coordinator.group.common.settings import MigrationPolicy
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.heartbeat import check_group_size, reconcile
from barnabas.coordinator.group.consumer.leave import remove_members
from barnabas.coordinator.group.consumer.member import ClassicMemberState, ConsumerMember, MemberState
from barnabas.coordinator.group.consumer.migration import becomes_classic_with, downgrade_with, protocol_topics
from barnabas.coordinator.group.consumer.sessions import JOIN, SYNC, expect_join, keep_session
from barnabas.coordinator.group.consumer.static_members import known_member, replaced
from barnabas.coordinator.group.consumer.subscriptions import RegexChange, update_epoch, update_regexes
from barnabas.coordinator.group.consumer.target import Target, update_target
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import (
    CorruptMessage,
    IllegalGeneration,
    InconsistentGroupProtocol,
    KafkaError,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.wire.messages.consumer_group_heartbeat import TopicPartitions
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def decide_classic_join(
    store: GroupStore, group: ConsumerGroup, joining: Joining, now: Now
) -> Decision[JoinGroupResponse]:
    subscription = _accepted(store, group, joining)
    is_unknown = joining.member_id == UNKNOWN_MEMBER_ID
    member_id = store.new_modern_member_id() if is_unknown else joining.member_id
    check_group_size(store, group, joining.member_id)
    if is_unknown and joining.needs_member_id and joining.group_instance_id is None:
        return Decision(MemberIdAssigned(member_id))
    decision: Decision[JoinGroupResponse] = Decision(JoinGroupResponse())
    existing = group.static_member(joining.group_instance_id)
    downgrade = becomes_classic_with(store, group, existing)
    before = _identified(group, joining, member_id, decision)
    member = _updated_member(before, joining, subscription)
    if member != before:
        decision.records.append(records.member_metadata(group.group_id, member))
    regex_change = update_regexes(store, group, before, member, now, decision)
    changed = member.subscribed_topic_names != before.subscribed_topic_names or regex_change is not RegexChange.NONE
    epoch = update_epoch(store, group, before, member, changed=changed, decision=decision)
    if downgrade and existing is not None:
        target = Target(group.target_epoch, group.target_of(existing.member_id))
    else:
        target = update_target(store, group, epoch, before, member, now, decision)
    is_stale = downgrade and group.target_epoch < epoch
    if not is_stale:
        member = reconcile(
            store,
            group,
            member,
            target,
            subscription_changed=changed,
            reported=_owned(store, subscription),
            now=now,
            decision=decision,
        )
    store.timers.cancel((JOIN, group.group_id, member.member_id))
    if downgrade and existing is not None:
        downgrade_with(store, group, member, existing, now, decision, rebalance=is_stale)
    else:
        keep_session(store, group.group_id, member, now.monotonic_ms)
        store.timers.set(
            (SYNC, group.group_id, member.member_id), now.monotonic_ms + max(joining.rebalance_timeout_ms, 0)
        )
    decision.response = JoinGroupResponse(
        generation_id=member.member_epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=next(iter(joining.protocols)),
        member_id=member.member_id,
    )
    return decision


def _accepted(store: GroupStore, group: ConsumerGroup, joining: Joining) -> Subscription:
    if store.settings.migration_policy is MigrationPolicy.DISABLED:
        raise InconsistentGroupProtocol(
            f"Cannot join the consumer group {group.group_id} with the classic protocol because the group migration is "
            "disabled."
        )
    if not group.supports_classic(joining.protocol_type, joining.protocols):
        raise InconsistentGroupProtocol(f"Member {joining.member_id}'s protocols are not supported.")
    try:
        return parse_subscription(next(iter(joining.protocols.values())))
    except CorruptMessage:
        raise InconsistentGroupProtocol(
            "the metadata of the member's first protocol is not a consumer subscription"
        ) from None


def _identified(group: ConsumerGroup, joining: Joining, member_id: str, decision: Decision[Any]) -> ConsumerMember:
    existing = group.static_member(joining.group_instance_id)
    if joining.group_instance_id is not None and joining.member_id != UNKNOWN_MEMBER_ID:
        return known_member(group, member_id, joining.group_instance_id)
    if existing is not None:
        return replaced(group, existing, member_id, decision)
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)


def _updated_member(before: ConsumerMember, joining: Joining, subscription: Subscription) -> ConsumerMember:
    return replace(
        before,
        instance_id=before.instance_id if joining.group_instance_id is None else joining.group_instance_id,
        rack_id=subscription.rack_id or before.rack_id,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        client=joining.client,
        classic=ClassicMemberState(joining.session_timeout_ms, tuple(joining.protocols.items())),
    )


def _owned(store: GroupStore, subscription: Subscription) -> tuple[TopicPartitions, ...]:
    by_name = store.catalog.topics.by_name
    return tuple(
        TopicPartitions(topic_id=known.id, partitions=topic.partitions)
        for topic in subscription.owned_partitions
        if (known := by_name.get(topic.topic)) is not None
    )


def decide_classic_sync(
    store: GroupStore, group: ConsumerGroup, request: SyncGroupRequest, now: Now
) -> Decision[SyncGroupResponse]:
    member, classic = _classic(group, request.member_id, request.group_instance_id, request.generation_id)
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        raise InconsistentGroupProtocol(f"the group's protocol type is {CONSUMER_PROTOCOL_TYPE}; join again")
    if request.protocol_name not in (None, classic.protocol):
        raise InconsistentGroupProtocol(
            f"the member must use {classic.protocol}, which it got when it joined; join again"
        )
    if group.target_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        expect_join(store, group.group_id, member, now.monotonic_ms)
        raise RebalanceInProgress(f"A new rebalance is triggered in group {group.group_id}; join again")
    store.timers.cancel((SYNC, group.group_id, member.member_id))
    keep_session(store, group.group_id, member, now.monotonic_ms)
    topics = protocol_topics(store.catalog, member.assigned.items())
    return Decision(
        SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(ProtocolAssignment(assigned_partitions=topics), classic.subscription),
        )
    )


def classic_heartbeat(
    store: GroupStore, group: ConsumerGroup, request: HeartbeatRequest, monotonic_ms: int
) -> HeartbeatResponse:
    member, _ = _classic(group, request.member_id, request.group_instance_id, request.generation_id)
    keep_session(store, group.group_id, member, monotonic_ms)
    if (
        member.member_epoch < group.target_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member))
    ):
        expect_join(store, group.group_id, member, monotonic_ms)
        raise RebalanceInProgress("partitions are moving; join again")
    return ALIVE


def _classic(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicMemberState]:
    member = known_member(group, member_id, instance_id)
    if member.classic is None:
        raise UnknownMemberId(f"Member {member_id} does not use the classic protocol.")
    if generation != member.member_epoch:
        raise IllegalGeneration(f"the member is in generation {member.member_epoch}, not {generation}; join again")
    return member, member.classic


def decide_classic_leave(
    store: GroupStore, group: ConsumerGroup, request: LeaveGroupRequest, now: Now
) -> Decision[Left]:
    """For members of either protocol: an administrator can remove both."""
    leaving: dict[str, ConsumerMember] = {}
    left: Left = []
    for identity in request.members:
        try:
            member = _leaving(group, identity)
        except KafkaError as error:
            left.append(error)
        else:
            left.append(None)
            leaving[member.member_id] = member
    decision: Decision[Left] = Decision(left)
    remove_members(store, group, list(leaving.values()), now, decision)
    return decision


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    existing = group.static_member(identity.group_instance_id)
    if existing is not None and identity.member_id == UNKNOWN_MEMBER_ID:
        return existing
    return known_member(group, identity.member_id, identity.group_instance_id)
