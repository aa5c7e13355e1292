"""Offsets that are removed: by an administrator, or with their topic."""

from collections.abc import Collection, Iterable

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.offset_access import as_consumer_group
from barnabas.coordinator.group.offsets.stored import OffsetRecord
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound, GroupSubscribedToTopic, KafkaError, NonEmptyGroup
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestTopic


def decide_delete_offsets(store: GroupStore, request: OffsetDeleteRequest) -> Decision[dict[str, KafkaError]]:
    """Returns the errors of the topics whose offsets are not deleted."""
    group = _with_offsets(store, request.group_id)
    records: list[OffsetRecord] = []
    refused: dict[str, KafkaError] = {}
    for topic in request.topics:
        if group.is_subscribed_to(topic.name):
            refused[topic.name] = GroupSubscribedToTopic(f"group {group.group_id} is subscribed to {topic.name}")
        else:
            records += _tombstones(store, group.group_id, topic)
    return Decision(refused, list(records))


def _with_offsets(store: GroupStore, group_id: str) -> ClassicGroup | ConsumerGroup:
    modern = store.modern.get(group_id)
    if modern is not None:
        return as_consumer_group(modern)
    group = store.groups.get(group_id)
    if group is None:
        raise GroupIdNotFound(f"there is no group {group_id}")
    if not group.is_empty and not group.is_consumer_group:
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
