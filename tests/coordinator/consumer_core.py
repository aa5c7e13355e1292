"""A group shard driven by members of consumer groups. The test changes topics and runs jobs."""

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from group_core import CLIENT, Answer, Core

from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.configs import GroupConfigs
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.common.topics import TopicCatalog
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.heartbeat import decide_consumer_heartbeat
from barnabas.coordinator.group.shard import GroupShard
from barnabas.metadata.image import BrokerImage, ClusterImage, PartitionImage, TopicImage, TopicsImage
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

AT_ONCE = GroupSettings(consumer_assignment_interval_ms=0, initial_rebalance_delay_ms=0)
"""Every group epoch has its target assignment at once."""

PARTITION = PartitionImage(
    replicas=(1,), directories=(uuid.UUID(int=9),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
)

Owned = Mapping[str, tuple[int, ...]]


def topic_id(name: str, generation: int = 0) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}/{generation}")


class Topics:
    """The part of the cluster that groups use."""

    def __init__(self) -> None:
        self.image = ClusterImage(brokers={1: BrokerImage(id=1, epoch=1, rack=None)}, offset=0)
        self._generation = 0

    def put(self, **partitions: int) -> None:
        by_name = dict(self.image.topics.by_name)
        for name, count in partitions.items():
            known = by_name.get(name)
            identity = topic_id(name, self._generation) if known is None else known.id
            by_name[name] = TopicImage(id=identity, name=name, partitions=dict.fromkeys(range(count), PARTITION))
        self._set(by_name)

    def delete(self, *names: str) -> None:
        self._generation += 1
        self._set({name: topic for name, topic in self.image.topics.by_name.items() if name not in names})

    def _set(self, by_name: dict[str, TopicImage]) -> None:
        topics = TopicsImage(by_name=by_name, by_id={topic.id: topic for topic in by_name.values()})
        self.image = ClusterImage(topics=topics, brokers=self.image.brokers, offset=self.image.offset + 1)

    def id(self, name: str) -> uuid.UUID:
        return self.image.topics.by_name[name].id

    def name(self, identity: uuid.UUID | None) -> str:
        found = None if identity is None else self.image.topics.by_id.get(identity)
        return "?" if found is None else found.name


class ConsumerCore(Core):
    def __init__(self, settings: GroupSettings = AT_ONCE, **topics: int) -> None:
        self.topics = Topics()
        self.topics.put(**topics)
        self.group_configs: dict[str, dict[str, str]] = {}
        super().__init__(settings)

    def new_shard(self) -> GroupShard:
        configs = GroupConfigs(self.settings, lambda group_id: self.group_configs.get(group_id, {}))
        return GroupShard(self.settings, self.random.randbytes, TopicCatalog(lambda: self.topics.image), configs)

    def hand_over(self, other: Any) -> None:
        other.topics, other.group_configs = self.topics, self.group_configs

    def group(self, group_id: str = "g") -> ConsumerGroup:
        group = self.shard.modern[group_id]
        assert isinstance(group, ConsumerGroup)
        return group

    def kind(self, group_id: str = "g") -> str:
        if group_id in self.shard.modern:
            assert group_id not in self.shard.groups
            return self.shard.modern[group_id].kind
        return "classic" if group_id in self.shard.groups else "none"

    def beat(
        self,
        member: str,
        epoch: int,
        *topics: str,
        owned: Owned | None = None,
        group: str = "g",
        client: ClientInfo = CLIENT,
        **fields: Any,
    ) -> Answer:
        """A heartbeat; `topics` and other fields only where they have changed."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            subscribed_topic_names=topics or fields.pop("names", None),
            topic_partitions=None
            if owned is None
            else tuple(
                TopicPartitions(topic_id=self.topics.id(name), partitions=indexes) for name, indexes in owned.items()
            ),
            **fields,
        )
        return self.decide(lambda shard, now: decide_consumer_heartbeat(shard, request, client, now))

    def enter(self, member: str, *topics: str, **fields: Any) -> Answer:
        """The first heartbeat."""
        fields = {"rebalance_timeout": timedelta(minutes=5), "owned": {}, **fields}
        return self.beat(member, 0, *topics, **fields)

    def assigned(self, answer: Answer) -> dict[str, tuple[int, ...]] | None:
        """By topic names; None if the answer has no assignment."""
        assignment = answer.response.assignment
        if assignment is None:
            return None
        return {self.topics.name(topic.topic_id): topic.partitions for topic in assignment.topic_partitions}

    def settled(self, *members: str, group: str = "g", rounds: int = 10) -> dict[str, dict[str, tuple[int, ...]]]:
        """Send heartbeats of members that follow their assignments, until the group is stable."""
        owned: dict[str, dict[str, tuple[int, ...]]] = {}
        for _ in range(rounds):
            self.run_jobs()
            for member in members:
                current = self.group(group).members[member]
                mine = {self.topics.name(topic): tuple(held) for topic, held in current.assigned.items()}
                known = {name: held for name, held in mine.items() if name != "?"}
                self.beat(member, current.member_epoch, owned=known, group=group).response  # noqa: B018  fails if refused
                owned[member] = {
                    self.topics.name(topic): tuple(sorted(held))
                    for topic, held in self.group(group).members[member].assigned.items()
                }
            if self.group(group).state.value == "Stable":
                return owned
        raise AssertionError(f"not stable after {rounds} rounds: {self.group(group).state}")
