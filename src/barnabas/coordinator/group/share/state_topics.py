"""Keeps track of the partitions of a share group that the share coordinator has a state of.

    subscribed > initializing > initialized > (offsets deleted) deleting > none
    topic deleted: none

The share coordinator may be on another broker. So every request to it is stored before it is sent, and its result
after. A request without an answer is repeated after `group.share.initialize.retry.interval.ms`: initialising twice does
no harm, since the state epoch is the same.
"""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions
from barnabas.coordinator.group.share import records
from barnabas.coordinator.group.share.group import ShareGroup, StateTopics
from barnabas.coordinator.group.share.replay import known_group
from barnabas.coordinator.group.store import GroupStore


def begin_initializing(
    store: GroupStore, group: ShareGroup, subscribed: Collection[str], now: Now, decision: Decision[Any]
) -> Partitions:
    """Partitions of subscribed topics whose state was not requested yet, or not lately."""
    wanted: dict[uuid.UUID, frozenset[int]] = {}
    by_name = store.catalog.topics.by_name
    retry_ms = store.settings.share_initialize_retry_interval_ms
    for name in sorted(subscribed):
        topic = by_name.get(name)
        if topic is None:
            continue
        missing = frozenset(topic.partitions) - group.state_topics.initialized.get(topic.id, frozenset())
        since_ms = group.initializing_since_ms.get(topic.id)
        if since_ms is not None and now.monotonic_ms - since_ms < retry_ms:
            missing -= group.state_topics.initializing.get(topic.id, frozenset())
        if missing:
            wanted[topic.id] = missing
    if not wanted:
        return NO_PARTITIONS
    note_initializing(store, group, wanted, now, decision)
    return wanted


def note_initializing(
    store: GroupStore, group: ShareGroup, wanted: Partitions, now: Now, decision: Decision[Any]
) -> None:
    topics = group.state_topics
    for topic_id in wanted:
        group.initializing_since_ms[topic_id] = now.monotonic_ms
    _change(
        store,
        group.group_id,
        replace(topics, initializing=_joined(topics.initializing, wanted), deleting=topics.deleting - wanted.keys()),
        decision,
    )


def is_assignment_pending(store: GroupStore, group: ShareGroup) -> bool:
    """Whether partitions were initialised after the target assignment was computed."""
    assigned: dict[uuid.UUID, set[int]] = {}
    for partitions in group.targets.values():
        for topic_id, indexes in partitions.items():
            assigned.setdefault(topic_id, set()).update(indexes)
    by_id = store.catalog.topics.by_id
    return bool(group.members) and any(
        topic_id in by_id
        and by_id[topic_id].name in group.names_subscribed
        and assigned.get(topic_id, set()) != indexes
        for topic_id, indexes in group.state_topics.initialized.items()
    )


def decide_initialized(store: GroupStore, group_id: str, done: Partitions) -> Decision[None]:
    decision: Decision[None] = Decision(None)
    group = known_group(store, group_id)
    if group is not None and done:
        topics = group.state_topics
        for topic_id in done:
            group.initializing_since_ms.pop(topic_id, None)
        _change(
            store,
            group_id,
            replace(
                topics,
                initializing=_without(topics.initializing, done),
                initialized=_joined(topics.initialized, done),
            ),
            decision,
        )
    return decision


def decide_not_initialized(store: GroupStore, group_id: str, failed: Partitions) -> Decision[None]:
    """The share coordinator refused: a later heartbeat tries again."""
    decision: Decision[None] = Decision(None)
    group = known_group(store, group_id)
    if group is not None and failed:
        for topic_id in failed:
            group.initializing_since_ms.pop(topic_id, None)
        topics = group.state_topics
        _change(store, group_id, replace(topics, initializing=_without(topics.initializing, failed)), decision)
    return decision


def decide_deleting(store: GroupStore, group: ShareGroup, topic_ids: Collection[uuid.UUID]) -> Decision[Partitions]:
    """The partitions whose state must be deleted, including those of an earlier attempt."""
    topics, by_id = group.state_topics, store.catalog.topics.by_id
    gone: dict[uuid.UUID, frozenset[int]] = {}
    for topic_id in topic_ids:
        if topic_id in topics.deleting and topic_id in by_id:
            gone[topic_id] = frozenset(by_id[topic_id].partitions)
        else:
            gone[topic_id] = topics.initialized.get(topic_id, frozenset()) | topics.initializing.get(
                topic_id, frozenset()
            )
    decision: Decision[Partitions] = Decision(gone)
    _change(
        store,
        group.group_id,
        StateTopics(
            initializing={each: kept for each, kept in topics.initializing.items() if each not in gone},
            initialized={each: kept for each, kept in topics.initialized.items() if each not in gone},
            deleting=topics.deleting | gone.keys(),
        ),
        decision,
    )
    return decision


def decide_deleted(store: GroupStore, group_id: str, topic_ids: Collection[uuid.UUID]) -> Decision[None]:
    decision: Decision[None] = Decision(None)
    group = known_group(store, group_id)
    if group is not None and group.state_topics.deleting & set(topic_ids):
        topics = group.state_topics
        _change(store, group_id, replace(topics, deleting=topics.deleting - set(topic_ids)), decision)
    return decision


def decide_topics_gone(store: GroupStore, topic_ids: Collection[uuid.UUID]) -> Decision[None]:
    """The share coordinator removes the states of deleted topics by itself."""
    decision: Decision[None] = Decision(None, atomic=False)
    gone = set(topic_ids)
    for group in store.modern.values():
        if not isinstance(group, ShareGroup):
            continue
        topics = group.state_topics
        left = StateTopics(
            initializing={each: kept for each, kept in topics.initializing.items() if each not in gone},
            initialized={each: kept for each, kept in topics.initialized.items() if each not in gone},
            deleting=topics.deleting - gone,
        )
        if left != topics:
            _change(store, group.group_id, left, decision)
    return decision


def _change(store: GroupStore, group_id: str, topics: StateTopics, decision: Decision[Any]) -> None:
    by_id = store.catalog.topics.by_id
    named = topics.initializing.keys() | topics.initialized.keys() | topics.deleting
    names = {topic_id: by_id[topic_id].name for topic_id in named if topic_id in by_id}
    decision.records.append(records.state_topics(group_id, topics, names))


def _joined(some: Partitions, others: Partitions) -> Partitions:
    return {
        topic_id: some.get(topic_id, frozenset()) | others.get(topic_id, frozenset())
        for topic_id in [*some, *(each for each in others if each not in some)]
    }


def _without(some: Partitions, others: Mapping[uuid.UUID, frozenset[int]]) -> Partitions:
    left = {topic_id: indexes - others.get(topic_id, frozenset()) for topic_id, indexes in some.items()}
    return {topic_id: indexes for topic_id, indexes in left.items() if indexes}
