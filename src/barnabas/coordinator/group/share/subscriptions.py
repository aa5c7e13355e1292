"""The topics that a share group subscribes to, and its epoch, which grows with them."""

from typing import Any

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.group.common.modern_group import add_counts
from barnabas.coordinator.group.share import records
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.share.state_topics import is_assignment_pending
from barnabas.coordinator.group.store import GroupStore


def subscribed_names(group: ShareGroup, before: ShareMember, after: ShareMember | None) -> frozenset[str]:
    """The subscribed topics of all members, with the new member in place of the old."""
    counts = dict(group.names_subscribed)
    if before.member_id in group.members:
        add_counts(counts, before.subscribed_topic_names, -1)
    if after is not None:
        add_counts(counts, after.subscribed_topic_names, 1)
    return frozenset(counts)


def update_epoch(
    store: GroupStore, group: ShareGroup, subscribed: frozenset[str], changed: bool, decision: Decision[Any]
) -> tuple[int, bool]:
    """The group epoch grows with a changed subscription, changed topics, and newly initialised partitions."""
    catalog = store.catalog
    bumps = changed or (group.target_epoch >= group.group_epoch and is_assignment_pending(store, group))
    if not bumps and not group.needs_topic_check(catalog.version):
        return group.group_epoch, False
    topics_hash = catalog.hash_of(subscribed)
    bumps = bumps or topics_hash != group.metadata_hash
    epoch = group.group_epoch + 1 if bumps else group.group_epoch
    if bumps:
        decision.records.append(records.group_epoch(group.group_id, epoch, topics_hash))
    group.topics_checked(catalog.version, epoch)
    return epoch, bumps
