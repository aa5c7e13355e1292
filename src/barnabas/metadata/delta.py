"""`replay` applies records to an image: it returns the next image, and the changes between the two.

Records of a metadata transaction are kept in `open_transaction` until the transaction ends, in this replay or a later
one. Those of an aborted transaction are dropped.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, TypeVar

from barnabas.metadata.draft import Draft, UnreplayableRecord
from barnabas.metadata.image import BrokerImage, ClusterImage, PartitionImage, TopicImage
from barnabas.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    UnknownRecord,
)
from barnabas.model import TopicPartition

T = TypeVar("T")


class PartitionChange(NamedTuple):
    topic_id: uuid.UUID
    before: PartitionImage | None
    """None: the partition is new."""
    after: PartitionImage


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The changes of a replay. A topic that was created and deleted within one replay does not appear."""

    topics_created: Mapping[uuid.UUID, TopicImage] = field(default_factory=dict)
    topics_deleted: Mapping[uuid.UUID, TopicImage] = field(default_factory=dict)
    """As they were before. Apply deletions first: `topics_created` may have a topic of the same name."""
    partitions_changed: Mapping[TopicPartition, PartitionChange] = field(default_factory=dict)
    """New partitions (including those of created topics) and changed ones; not those of deleted topics."""
    configs_changed: frozenset[tuple[int, str]] = frozenset()
    """Resources (type, name) whose configs have changed."""
    brokers_changed: Mapping[int, BrokerImage | None] = field(default_factory=dict)
    """None: the broker was unregistered."""
    features_changed: frozenset[str] = frozenset()
    access_changed: bool = False
    """ACLs, credentials, tokens or quotas."""

    def __bool__(self) -> bool:
        return bool(
            self.topics_created
            or self.topics_deleted
            or self.partitions_changed
            or self.configs_changed
            or self.brokers_changed
            or self.features_changed
            or self.access_changed
        )

    @property
    def partition_count(self) -> int:
        """The number of deleted and changed partitions."""
        return sum(len(topic.partitions) for topic in self.topics_deleted.values()) + len(self.partitions_changed)

    def parts(self, partitions_max: int) -> Iterator["Delta"]:
        """Split the change into parts of limited size, in the order in which they must be applied.

        The first part has everything that does not concern partitions. A deleted topic may be split over several parts.
        """
        left = replace(self, topics_deleted={}, partitions_changed={})
        for topic_id, topic in self.topics_deleted.items():
            for indexes in list(_chunks(topic.partitions, partitions_max)) or [[]]:
                some = {index: topic.partitions[index] for index in indexes}
                yield replace(left, topics_deleted={topic_id: replace(topic, partitions=some)})
                left = Delta()
        for changed in _chunks(self.partitions_changed, partitions_max):
            yield replace(left, partitions_changed={each: self.partitions_changed[each] for each in changed})
            left = Delta()
        if left:
            yield left


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


def replay(
    image: ClusterImage,
    records: Iterable[MetadataRecord | UnknownRecord],
    *,
    offset: int | None = None,
    epoch: int | None = None,
) -> tuple[ClusterImage, Delta]:
    """`offset` and `epoch` are those of the last record; by default the image keeps its own.

    Raises UnreplayableRecord; the old image is not changed in any case.
    """
    draft = Draft(image)
    pending = None if image.open_transaction is None else list(image.open_transaction)
    for record in records:
        if isinstance(record, UnknownRecord):
            raise UnreplayableRecord(
                f"a metadata record of type {record.api_key}, version {record.version}, is newer than this broker; "
                "start a version at least as new as the one that wrote it"
            )
        if isinstance(record, BeginTransactionRecord):
            if pending is not None:
                raise UnreplayableRecord("a metadata transaction begins inside another")
            pending = []
        elif isinstance(record, EndTransactionRecord | AbortTransactionRecord):
            if pending is None:
                raise UnreplayableRecord("a metadata transaction ends that never began")
            if isinstance(record, EndTransactionRecord):
                for waiting in pending:
                    draft.apply(waiting)
            pending = None
        elif pending is not None:
            pending.append(record)
        else:
            draft.apply(record)
    after = replace(
        draft.image(),
        open_transaction=None if pending is None else tuple(pending),
        offset=image.offset if offset is None else offset,
        epoch=image.epoch if epoch is None else epoch,
    )
    return after, _delta(image, after, draft)


def _delta(before: ClusterImage, after: ClusterImage, draft: Draft) -> Delta:
    created: dict[uuid.UUID, TopicImage] = {}
    deleted: dict[uuid.UUID, TopicImage] = {}
    partitions: dict[TopicPartition, PartitionChange] = {}
    for topic_id in draft.topics_touched:
        old = before.topics.by_id.get(topic_id)
        new = after.topics.by_id.get(topic_id)
        if new is None:
            if old is not None:
                deleted[topic_id] = old
            continue
        if old is None:
            created[topic_id] = new
        for index, partition in new.partitions.items():
            earlier = None if old is None else old.partitions.get(index)
            if earlier is not partition:
                partitions[TopicPartition(new.name, index)] = PartitionChange(topic_id, earlier, partition)
    return Delta(
        topics_created=created,
        topics_deleted=deleted,
        partitions_changed=partitions,
        configs_changed=frozenset(
            resource
            for resource in draft.configs_touched
            if before.configs.of(*resource) != after.configs.of(*resource)
        ),
        brokers_changed={
            broker_id: after.brokers.get(broker_id)
            for broker_id in draft.brokers_touched
            if before.brokers.get(broker_id) != after.brokers.get(broker_id)
        },
        features_changed=frozenset(
            name for name in draft.features_touched if before.features.get(name) != after.features.get(name)
        ),
        access_changed=before.access != after.access,
    )
