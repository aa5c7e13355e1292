"""What `barnabas group describe` shows: each partition's committed offset, end, lag and member."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.connection import REQUEST_TIMEOUT_S, result_of
from barnabas.cli.errors import CommandFailed
from barnabas.cli.output import plural

if TYPE_CHECKING:
    from confluent_kafka.admin import (
        AdminClient,
        ConsumerGroupDescription,
        ConsumerGroupListing,
        MemberDescription,
        TopicMetadata,
    )

Partition = tuple[str, int]

CONSUMER = "consumer"


class PartitionView(NamedTuple):
    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    """None while nothing is committed."""
    member: str | None
    client: str | None
    host: str | None


class GroupView(NamedTuple):
    group: str
    type: str
    """classic, or consumer: the broker assigns (KIP-848)."""
    state: str
    assignor: str
    coordinator: int | None
    members: int
    partitions: list[PartitionView]

    @property
    def lag(self) -> int | None:
        """The sum over partitions with a known lag; None if there are none."""
        known = [partition.lag for partition in self.partitions if partition.lag is not None]
        return sum(known) if known else None

    def headline(self) -> str:
        kind = "consumer group, " if self.type == CONSUMER else ""
        assignor = f", assignor {self.assignor}" if self.assignor else ""
        members = plural(self.members, "member")
        return f"Group {self.group}: {kind}{self.state}, {members}{assignor}, {self._lag_in_words()}"

    def _lag_in_words(self) -> str:
        uncommitted = sum(partition.committed is None for partition in self.partitions)
        if uncommitted == len(self.partitions):
            return "nothing committed"
        lag = "lag unknown" if self.lag is None else f"lag {self.lag:,}"
        return f"{lag}, nothing committed in {plural(uncommitted, 'partition')}" if uncommitted else lag

    def as_object(self) -> dict[str, object]:
        return {
            **self._asdict(),
            "lag": self.lag,
            "partitions": [partition._asdict() for partition in self.partitions],
        }


def describe_group(admin: "AdminClient", name: str, topics: "Mapping[str, TopicMetadata]") -> GroupView:
    """With all partitions of its topics, even those without a committed offset or a member."""
    found = _describe(admin, name)
    committed = committed_offsets(admin, name)
    readers = _readers(found)
    named = committed.keys() | readers.keys()
    if found.state.name == "DEAD" and not named:
        raise CommandFailed(f"there is no group {name}", hint="run barnabas group list to see the groups")
    read = {topic: topics[topic] for topic, _ in named if topic in topics}
    where = sorted(named | {(topic, index) for topic, metadata in read.items() for index in metadata.partitions})
    ends = end_offsets(admin, where)
    return GroupView(
        group=name,
        type=found.type.name.lower(),
        state=state_in_words(found),
        assignor=found.partition_assignor or "",
        coordinator=None if found.coordinator is None else found.coordinator.id,
        members=len(found.members),
        partitions=[_view(place, committed.get(place), ends.get(place), readers.get(place)) for place in where],
    )


def member_count(admin: "AdminClient", name: str) -> int:
    return len(_describe(admin, name).members)


def _describe(admin: "AdminClient", name: str) -> "ConsumerGroupDescription":
    return result_of(admin.describe_consumer_groups([name], request_timeout=REQUEST_TIMEOUT_S)[name])


def state_in_words(group: "ConsumerGroupDescription | ConsumerGroupListing") -> str:
    """librdkafka does not know the two states in which a KIP-848 group rebalances."""
    state = group.state.name.lower().replace("_", " ")
    return "rebalancing" if state == "unknown" and group.type.name.lower() == CONSUMER else state


def committed_offsets(admin: "AdminClient", name: str) -> dict[Partition, int]:
    from confluent_kafka import ConsumerGroupTopicPartitions

    request = [ConsumerGroupTopicPartitions(name)]
    found = result_of(admin.list_consumer_group_offsets(request, request_timeout=REQUEST_TIMEOUT_S)[name])
    return {(place.topic, place.partition): place.offset for place in found.topic_partitions if place.offset >= 0}


def end_offsets(admin: "AdminClient", where: Sequence[Partition]) -> dict[Partition, int]:
    """Of partitions that exist: a group may have offsets of a deleted topic."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    if not where:
        return {}
    asked = {TopicPartition(topic, partition): OffsetSpec.latest() for topic, partition in where}
    ends = {}
    for place, future in admin.list_offsets(asked, request_timeout=REQUEST_TIMEOUT_S).items():
        try:
            ends[place.topic, place.partition] = future.result().offset
        except KafkaException:
            continue
    return ends


def _readers(group: "ConsumerGroupDescription") -> "dict[Partition, MemberDescription]":
    return {
        (place.topic, place.partition): member
        for member in group.members
        if member.assignment is not None
        for place in member.assignment.topic_partitions
    }


def _view(
    place: Partition, committed: int | None, end: int | None, reader: "MemberDescription | None"
) -> PartitionView:
    lag = None if committed is None or end is None else max(0, end - committed)
    return PartitionView(
        *place,
        committed=committed,
        end=end,
        lag=lag,
        member=None if reader is None else reader.member_id,
        client=None if reader is None else reader.client_id,
        host=None if reader is None else reader.host,
    )
