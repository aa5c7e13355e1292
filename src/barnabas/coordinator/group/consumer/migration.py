"""Groups that change their protocol while their members keep consuming.

Upgrade: a classic group becomes a consumer group when the first member of the new protocol joins it. Its generation
becomes the group epoch, and all members keep their partitions. Members of the classic protocol stay
(`classic_members`).

Downgrade: when the last member of the new protocol leaves, or a static one comes back with the classic protocol, the
group becomes a classic one, and its members rebalance.

Empty groups can always change. For others `group.consumer.migration.policy` decides.
"""

import logging
import uuid
from collections.abc import Collection, Iterable
from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.member import Member
from barnabas.coordinator.group.classic.rebalance import prepare_rebalance
from barnabas.coordinator.group.classic.records import group_removal
from barnabas.coordinator.group.classic.sessions import keep_session as keep_classic_session
from barnabas.coordinator.group.classic.states import EMPTY, STABLE
from barnabas.coordinator.group.classic.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    ProtocolAssignment,
    ProtocolTopic,
    encode_assignment,
    parse_assignment,
    parse_subscription,
)
from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions
from barnabas.coordinator.group.common.topics import TopicCatalog
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import ClassicMemberState, ConsumerMember, since_epoch
from barnabas.coordinator.group.consumer.sessions import keep_session, watch_removal
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import CorruptMessage, GroupIdNotFound, RebalanceInProgress

logger = logging.getLogger(__name__)


# --- upgrade


def upgraded(store: GroupStore, group_id: str, now: Now, decision: Decision[Any]) -> ConsumerGroup:
    """The consumer group that replaces any group of this id, as the decision's records will make it."""
    classic = store.groups.get(group_id)
    if classic is None:
        return ConsumerGroup(group_id)
    if classic.state is EMPTY:
        decision.records.append(group_removal(group_id))
        return ConsumerGroup(group_id)
    _check_upgrade(store, classic)
    try:
        group = _consumer_group(store.catalog, classic)
    except CorruptMessage:
        raise _refused(group_id, "the embedded consumer protocol is malformed") from None
    waiting = [
        parked
        for member in classic.members.values()
        for parked in (member.awaiting_join, member.awaiting_sync)
        if parked is not None
    ]

    def dismiss(_: Now) -> Decision[None]:
        dismissed: Decision[None] = Decision(None)
        for parked in waiting:
            dismissed.release(parked, RebalanceInProgress("the group has become a consumer group; join again"))
        return dismissed

    # Only once it is stored: otherwise the classic group continues, with its parked requests.
    decision.on_committed = dismiss
    decision.records += [group_removal(group_id), *_records_of(group)]
    for upgraded_member in group.members.values():
        keep_session(store, group_id, upgraded_member, now.monotonic_ms)
    logger.info("group %s has become a consumer group", group_id)
    return group


def _check_upgrade(store: GroupStore, classic: ClassicGroup) -> None:
    if not store.settings.migration_policy.allows_upgrade:
        raise _refused(classic.group_id, "online upgrade is disabled")
    if not classic.is_consumer_group:
        raise _refused(classic.group_id, "the group does not use the consumer embedded protocol")
    if len(classic.members) > store.settings.consumer_group_size_max:
        raise _refused(classic.group_id, "the group size exceeds the consumer group maximum size")


def _refused(group_id: str, why: str) -> GroupIdNotFound:
    logger.info("group %s stays a classic group: %s", group_id, why)
    return GroupIdNotFound(f"Cannot upgrade classic group {group_id} to consumer group because {why}.")


def _consumer_group(catalog: TopicCatalog, classic: ClassicGroup) -> ConsumerGroup:
    group = ConsumerGroup(classic.group_id)
    epoch = group.group_epoch = group.target_epoch = classic.generation
    for member in classic.members.values():
        partitions = _partitions(catalog, classic.group_id, member.assignment)
        protocol = classic.protocol if classic.protocol in member.protocols else next(iter(member.protocols))
        subscription = parse_subscription(member.protocols[protocol or ""])
        group.targets[member.member_id] = partitions
        group.put(
            ConsumerMember(
                member_id=member.member_id,
                member_epoch=epoch,
                previous_member_epoch=epoch,
                instance_id=member.group_instance_id,
                rack_id=subscription.rack_id or None,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                client=member.client,
                subscribed_topic_names=frozenset(subscription.topics),
                assigned=since_epoch(partitions, epoch),
                classic=ClassicMemberState(member.session_timeout_ms, tuple(member.protocols.items())),
            )
        )
    group.metadata_hash = catalog.hash_of(group.names_subscribed)
    return group


def _partitions(catalog: TopicCatalog, group_id: str, assignment: bytes) -> Partitions:
    if not assignment:
        return NO_PARTITIONS
    parsed = parse_assignment(assignment)
    if parsed.user_data:
        raise _refused(
            group_id,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade",
        )
    return {
        known.id: frozenset(topic.partitions)
        for topic in parsed.assigned_partitions
        if topic.partitions and (known := catalog.topics.by_name.get(topic.topic)) is not None
    }


def _records_of(group: ConsumerGroup) -> list[Any]:
    members = group.members.values()
    return [
        *(records.member_metadata(group.group_id, member) for member in members),
        records.group_epoch(group.group_id, group.group_epoch, group.metadata_hash),
        *(records.target(group.group_id, member_id, partitions) for member_id, partitions in group.targets.items()),
        records.target_epoch(group.group_id, group.target_epoch, group.target_timestamp_ms),
        *(records.current_assignment(group.group_id, member) for member in members),
    ]


# --- downgrade


def becomes_classic_without(store: GroupStore, group: ConsumerGroup, leaving: Collection[ConsumerMember]) -> bool:
    left = len(group.members) - len(leaving)
    classic_left = group.classic_size - sum(member.classic is not None for member in leaving)
    return 0 < left == classic_left and _may_be_classic(store, left)


def becomes_classic_with(store: GroupStore, group: ConsumerGroup, replaced: ConsumerMember | None) -> bool:
    """Whether `replaced`, which comes back with the classic protocol, is the only one with the new protocol."""
    return (
        replaced is not None
        and replaced.classic is None
        and group.classic_size == len(group.members) - 1
        and _may_be_classic(store, len(group.members))
    )


def _may_be_classic(store: GroupStore, size: int) -> bool:
    return store.settings.migration_policy.allows_downgrade and size <= store.settings.group_size_max


def downgrade_without(
    store: GroupStore, group: ConsumerGroup, leaving: Iterable[ConsumerMember], now: Now, decision: Decision[Any]
) -> None:
    gone = {member.member_id for member in leaving}
    staying = [member for member_id, member in group.members.items() if member_id not in gone]
    decision.records += records.group_removal(group)
    _downgrade(store, group, staying, {}, now, decision, rebalance=True)


def downgrade_with(
    store: GroupStore,
    group: ConsumerGroup,
    joining: ConsumerMember,
    replaced: ConsumerMember,
    now: Now,
    decision: Decision[Any],
    *,
    rebalance: bool,
) -> None:
    """The decision already has the records that replace the static member by the `joining` one."""
    staying = [member for member in group.members.values() if member.member_id != replaced.member_id]
    decision.records += records.group_removal(group, [*(member.member_id for member in staying), joining.member_id])
    holders = {joining.member_id: replaced.member_id}
    _downgrade(store, group, [*staying, joining], holders, now, decision, rebalance=rebalance)


def _downgrade(
    store: GroupStore,
    group: ConsumerGroup,
    members: Iterable[ConsumerMember],
    holders: dict[str, str],
    now: Now,
    decision: Decision[Any],
    *,
    rebalance: bool,
) -> None:
    """`holders` maps a member to the id under which its target is stored, if that is not its own."""
    group_id = group.group_id
    classic = ClassicGroup(group_id, now.wall_ms)
    classic.generation = group.group_epoch
    classic.protocol_type = CONSUMER_PROTOCOL_TYPE
    for member in members:
        classic.add(_classic_member(group_id, member))
    classic.protocol = classic.preferred_protocol()
    decision.records.append(
        classic.record(
            {
                member.member_id: _assignment(
                    store.catalog,
                    group.target_of(holders.get(member.member_id, member.member_id)),
                    member.protocols[classic.protocol],
                )
                for member in classic.members.values()
            }
        )
    )
    before = list(group.members.values())
    watch_removal(store, group_id, before, decision)
    forget_all = decision.on_committed

    def begin(committed: Now) -> Decision[None]:
        assert forget_all is not None
        begun = forget_all(committed)
        logger.info("group %s has become a classic group", group_id)
        current = store.groups.get(group_id)
        if current is not None and current.state is STABLE and current.generation == classic.generation:
            for each in current.members.values():
                keep_classic_session(store, each, committed.monotonic_ms)
            if rebalance:
                prepare_rebalance(store, current, committed, begun)
        return begun

    decision.on_committed = begin


def _classic_member(group_id: str, member: ConsumerMember) -> Member:
    assert member.classic is not None, "only members of the classic protocol are left"
    return Member(
        group_id,
        member.member_id,
        member.instance_id,
        member.client,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=member.classic.as_protocols(),
    )


def _assignment(catalog: TopicCatalog, target: Partitions, subscription: bytes) -> bytes:
    return encode_assignment(
        ProtocolAssignment(assigned_partitions=protocol_topics(catalog, target.items())), subscription
    )


def protocol_topics(
    catalog: TopicCatalog, partitions: Iterable[tuple[uuid.UUID, Iterable[int]]]
) -> tuple[ProtocolTopic, ...]:
    """By name, as in the classic protocol; deleted topics are left out."""
    by_id = catalog.topics.by_id
    return tuple(
        ProtocolTopic(topic=by_id[topic_id].name, partitions=tuple(sorted(indexes)))
        for topic_id, indexes in partitions
        if topic_id in by_id
    )
