"""Random interleavings of members of both protocols, topics, time, lost answers, failing logs and crashes.

Always: replaying the log gives the same state, and no partition has two owners. Once everything is quiet, every member
has its target assignment, and all partitions are assigned.
"""

import uuid
from datetime import timedelta
from typing import Any

from consumer_core import ConsumerCore
from group_core import Answer
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from test_consumer_group_migration import read, subscription

from barnabas.coordinator.group.classic.join import MemberIdAssigned
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import MemberState
from barnabas.wire.errors import CoordinatorNotAvailable
from property_effort import examples

TOPICS = ("t", "u", "v")
REBALANCE = timedelta(seconds=30)
Place = tuple[uuid.UUID, int]


def places(held: Any) -> set[Place]:
    return {(topic, partition) for topic, partitions in held.items() for partition in partitions}


class Consumer:
    """A member of the new protocol, and the partitions it consumes."""

    def __init__(self, name: str, instance: str | None) -> None:
        self.instance = instance
        self.name = name
        self.number = 0
        self.epoch = 0
        self.owned: set[Place] = set()
        self.pending: set[Place] | None = None
        """An assignment that it has received but not applied."""
        self.topics: tuple[str, ...] = ("t",)
        self.regex = ""
        self.is_in = False

    @property
    def member(self) -> str:
        return f"{self.name}{self.number}"

    def start_over(self) -> None:
        self.epoch, self.owned, self.pending, self.is_in = 0, set(), None, False

    def new_life(self) -> None:
        self.start_over()
        self.number += 1

    def fields(self) -> dict[str, Any]:
        return {"names": self.topics, "subscribed_topic_regex": self.regex, "rebalance_timeout": REBALANCE}


class ClassicConsumer:
    def __init__(self) -> None:
        self.member = ""
        self.generation = -1
        self.owned: dict[str, tuple[int, ...]] = {}
        self.joining: Answer | None = None

    def start_over(self) -> None:
        self.member, self.generation, self.owned, self.joining = "", -1, {}, None


consumers = st.integers(0, 4)
classics = st.integers(0, 1)


class ConsumerGroupMachine(RuleBasedStateMachine):
    @initialize(interval_ms=st.sampled_from([0, 1_000]))
    def begin(self, interval_ms: int) -> None:
        self.core = ConsumerCore(
            GroupSettings(consumer_assignment_interval_ms=interval_ms, initial_rebalance_delay_ms=0), t=3, u=2
        )
        self.consumers = [Consumer(f"m{number}-", None) for number in range(3)]
        self.consumers += [Consumer(f"s{number}-", f"static-{number}") for number in range(2)]
        self.classics = [ClassicConsumer(), ClassicConsumer()]

    # Members of the new protocol

    def send(self, consumer: Consumer, epoch: int, reports: bool = True, **fields: Any) -> Answer:
        owned: dict[str, list[int]] = {}
        for topic, partition in sorted(consumer.owned):
            owned.setdefault(self.core.topics.name(topic), []).append(partition)
        owned.pop("?", None)  # the topic was deleted, so it can't be named
        return self.core.beat(
            consumer.member,
            epoch,
            owned={name: tuple(held) for name, held in owned.items()} if reports else None,
            instance_id=consumer.instance,
            **fields,
        )

    def hear(self, consumer: Consumer, answer: Answer) -> None:
        if answer.is_waiting:
            return  # its answer will be lost
        if answer.error in ("FencedMemberEpoch", "UnknownMemberId", "GroupIdNotFound", "FencedInstanceId"):
            consumer.new_life() if answer.error == "FencedInstanceId" else consumer.start_over()
        elif answer.error == "":
            consumer.epoch, consumer.is_in = answer.response.member_epoch, True
            if answer.response.assignment is not None:
                consumer.pending = {
                    (topic.topic_id, partition)
                    for topic in answer.response.assignment.topic_partitions
                    for partition in topic.partitions
                }

    @rule(who=consumers, reports=st.booleans(), is_lost=st.sampled_from([False, False, True]))
    def beat(self, who: int, reports: bool, is_lost: bool) -> None:
        consumer = self.consumers[who]
        if consumer.epoch == 0:
            consumer.owned, consumer.pending = set(), None
        fields = consumer.fields() if consumer.epoch == 0 else {}
        answer = self.send(consumer, consumer.epoch, reports or consumer.epoch == 0, **fields)
        if not is_lost:
            self.hear(consumer, answer)

    @rule(who=consumers)
    def react(self, who: int) -> None:
        """It revokes and adds partitions as assigned."""
        consumer = self.consumers[who]
        if consumer.pending is not None:
            consumer.owned, consumer.pending = consumer.pending, None

    @rule(who=consumers, topics=st.sets(st.sampled_from(TOPICS)), regex=st.sampled_from(["", "", "t|u", "v.*", "w"]))
    def subscribe(self, who: int, topics: set[str], regex: str) -> None:
        consumer = self.consumers[who]
        consumer.topics, consumer.regex = tuple(sorted(topics)), regex
        if consumer.epoch > 0:
            self.hear(consumer, self.send(consumer, consumer.epoch, **consumer.fields()))

    @rule(who=consumers, for_a_while=st.booleans())
    def leave(self, who: int, for_a_while: bool) -> None:
        consumer = self.consumers[who]
        consumer.owned = set()
        self.send(consumer, -2 if for_a_while and consumer.instance else -1)
        consumer.new_life()

    @rule(who=consumers)
    def die(self, who: int) -> None:
        self.consumers[who].new_life()

    # Members of the classic protocol

    @rule(who=classics, topics=st.sets(st.sampled_from(TOPICS), min_size=1))
    def classic_join(self, who: int, topics: set[str]) -> None:
        client = self.classics[who]
        protocols = {"range": subscription(*sorted(topics), owned=client.owned)}
        client.joining = self.core.join(member=client.member, protocols=protocols, rebalance_ms=30_000)
        self.classic_hear(client)

    def classic_hear(self, client: ClassicConsumer) -> None:
        answer = client.joining
        if answer is None or answer.is_waiting:
            return
        client.joining = None
        if isinstance(answer.outcome, MemberIdAssigned):
            client.member = answer.outcome.member_id
        elif answer.error == "":
            client.member, client.generation = answer.response.member_id, answer.response.generation_id
        elif answer.error == "UnknownMemberId":
            client.start_over()

    @rule(who=classics)
    def classic_sync(self, who: int) -> None:
        client = self.classics[who]
        answer = self.core.sync(client.member, client.generation)
        if not answer.is_waiting and answer.error == "":
            client.owned = read(answer.response.assignment) if answer.response.assignment else {}
        elif not answer.is_waiting and answer.error in ("UnknownMemberId", "IllegalGeneration"):
            client.start_over()

    @rule(who=classics)
    def classic_heartbeat(self, who: int) -> None:
        client = self.classics[who]
        if self.core.heartbeat(client.member, client.generation) == "UnknownMemberId":
            client.start_over()

    @rule(who=classics)
    def classic_leave(self, who: int) -> None:
        client = self.classics[who]
        self.core.leave(client.member)
        client.start_over()

    # Everything else

    @rule(who=consumers, partition=st.integers(0, 2), behind=st.sampled_from([0, 0, 1]))
    def commit(self, who: int, partition: int, behind: int) -> None:
        consumer = self.consumers[who]
        if consumer.epoch <= behind:
            return  # such an epoch is an administrator's
        topic_id = self.core.topics.id("t") if "t" in self.core.topics.image.topics.by_name else None
        answer = self.core.commit_offsets(
            {("t", partition): 1},
            member=consumer.member,
            generation=consumer.epoch - behind,
            instance=consumer.instance,
            topic_id=topic_id,
        )
        group = self.core.shard.modern.get("g")
        if isinstance(group, ConsumerGroup) and not answer.is_waiting and answer.error == "" and behind:
            assert group.members[consumer.member].owns(topic_id, partition) is not None, "a zombie has committed"

    @rule(topic=st.sampled_from(TOPICS), count=st.integers(1, 5))
    def grow(self, topic: str, count: int) -> None:
        known = self.core.topics.image.topics.by_name.get(topic)
        self.core.topics.put(**{topic: max(count, 0 if known is None else len(known.partitions))})

    @rule(topic=st.sampled_from(TOPICS))
    def delete(self, topic: str) -> None:
        self.core.topics.delete(topic)

    @rule(by_ms=st.sampled_from([1, 1_000, 10_001, 29_000, 45_001]))
    def time_passes(self, by_ms: int) -> None:
        self.core.advance(by_ms)
        for client in self.classics:
            self.classic_hear(client)

    @rule()
    def jobs_are_done(self) -> None:
        self.core.run_jobs()

    @precondition(lambda self: not self.core.hold)
    @rule()
    def commits_are_held(self) -> None:
        self.core.hold = True

    @precondition(lambda self: self.core.hold)
    @rule()
    def held_is_committed(self) -> None:
        self.core.commit_held()

    @rule()
    def disk_fills_and_empties(self) -> None:
        self.core.refuse = None if self.core.refuse else CoordinatorNotAvailable()

    @rule()
    def crash(self) -> None:
        self.core = self.core.reloaded()
        for client in self.classics:
            client.joining = None

    # What must always hold

    @invariant()
    def the_log_gives_the_durable_state_back(self) -> None:
        other = self.core.reloaded()
        assert other.shard.stored_groups == self.core.shard.stored_groups
        assert other.shard.offsets == self.core.shard.offsets
        assert {group_id: durable(group) for group_id, group in other.shard.modern.items()} == {
            group_id: durable(group) for group_id, group in self.core.shard.modern.items()
        }

    @invariant()
    def a_group_is_of_one_kind(self) -> None:
        assert not self.core.shard.modern.keys() & self.core.shard.groups.keys()

    @invariant()
    def nobody_has_what_another_has(self) -> None:
        group = self.core.shard.modern.get("g")
        if not isinstance(group, ConsumerGroup):
            return
        held: set[Place] = set()
        for member in group.members.values():
            mine = places(member.assigned) | places(member.pending_revocation)
            assert not mine & held
            held |= mine
        assert held == places(group.owners)
        targets: set[Place] = set()
        for target in group.targets.values():
            assert not places(target) & targets
            targets |= places(target)
        assert group.target_epoch <= group.group_epoch
        for consumer in self.consumers:
            known = group.members.get(consumer.member)
            if known is not None and consumer.is_in and consumer.epoch == known.member_epoch:
                mine = places(known.assigned) | places(known.pending_revocation)
                existing = {place for place in consumer.owned if place[0] in self.core.topics.image.topics.by_id}
                assert existing <= mine, "it consumes what may be given to others"

    def teardown(self) -> None:
        if not hasattr(self, "core"):
            return
        self.core.refuse = None
        self.core.commit_held()
        for client in self.classics:
            self.core.leave(client.member)
        self.core.advance(60_000)
        alive = self.consumers[:2]
        for consumer in alive:
            consumer.new_life()
            consumer.topics, consumer.regex = ("t", "u"), ""
        for _ in range(12):
            self.core.advance(1_000)
            for number, _ in enumerate(alive):
                self.beat(number, True, False)
                self.react(number)
            self.core.run_jobs()
        group = self.core.group()
        assert set(group.members) == {consumer.member for consumer in alive}
        assert group.state_name == "Stable"
        assert all(member.state is MemberState.STABLE for member in group.members.values())
        by_name = self.core.topics.image.topics.by_name
        existing = [by_name[name] for name in ("t", "u") if name in by_name]
        everything = {(topic.id, partition) for topic in existing for partition in topic.partitions}
        assert set().union(*(consumer.owned for consumer in alive)) == everything
        assert sum(len(consumer.owned) for consumer in alive) == len(everything)


def durable(group: Any) -> dict[str, Any]:
    soft = ("checked_version", "checked_epoch")
    return {name: value for name, value in vars(group).items() if name not in soft}


ConsumerGroupMachine.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
TestConsumerGroups = ConsumerGroupMachine.TestCase
