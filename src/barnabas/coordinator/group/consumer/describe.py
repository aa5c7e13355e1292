"""A consumer group as ConsumerGroupDescribe returns it."""

import uuid
from collections.abc import Iterable, Mapping

from barnabas.coordinator.group.common.topics import TopicCatalog
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import ConsumerMember
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound
from barnabas.wire.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

_CLASSIC, _CONSUMER = 0, 1
"""Member types."""


def describe_consumer_group(store: GroupStore, group_id: str) -> DescribedGroup:
    group = store.modern.get(group_id)
    if not isinstance(group, ConsumerGroup):
        is_other = group is not None or group_id in store.groups
        raise GroupIdNotFound(
            f"Group {group_id} is not a consumer group." if is_other else f"Group {group_id} not found."
        )
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.preferred_assignor(None, None) or store.settings.consumer_assignors[0],
        members=tuple(_member(store.catalog, group, member) for member in group.members.values()),
    )


def _member(catalog: TopicCatalog, group: ConsumerGroup, member: ConsumerMember) -> Member:
    owned: dict[uuid.UUID, list[int]] = {}
    for held in (member.assigned, member.pending_revocation):
        for topic_id, partitions in held.items():
            owned.setdefault(topic_id, []).extend(partitions)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client.client_id,
        client_host=member.client.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(catalog, owned),
        target_assignment=_assignment(catalog, group.target_of(member.member_id)),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(catalog: TopicCatalog, partitions: Mapping[uuid.UUID, Iterable[int]]) -> Assignment:
    by_id = catalog.topics.by_id
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, topic_name=by_id[topic_id].name, partitions=tuple(sorted(indexes)))
            for topic_id, indexes in partitions.items()
            if topic_id in by_id
        )
    )
