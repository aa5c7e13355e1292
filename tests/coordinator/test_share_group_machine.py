"""Share groups under any order of requests: replaying the log gives the same groups, at every step.

Members join, stay, leave and time out, topics are created and grow, state is initialised or refused, offsets are set
and deleted.
"""

import random
import uuid
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.common.topics import TopicCatalog
from barnabas.coordinator.group.shard import GroupShard
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.heartbeat import HeartbeatOutcome, decide_share_heartbeat
from barnabas.coordinator.group.share.offsets import decide_alter, decide_delete
from barnabas.coordinator.group.share.state_topics import (
    decide_deleted,
    decide_initialized,
    decide_not_initialized,
    decide_topics_gone,
)
from barnabas.metadata.image import EMPTY_IMAGE, ClusterImage, PartitionImage, TopicImage, TopicsImage
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from property_effort import examples

TOPICS = {"red": uuid.UUID(int=1), "green": uuid.UUID(int=2), "blue": uuid.UUID(int=3)}
MEMBERS = ["a", "b", "c", "d"]
GROUP = "g"
CLIENT = ClientInfo("client", "/127.0.0.1")

topics = st.sets(st.sampled_from(sorted(TOPICS)), min_size=1)


def image_of(counts: dict[str, int]) -> ClusterImage:
    partition = PartitionImage(
        replicas=(1,), directories=(uuid.UUID(int=9),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
    )
    found = [
        TopicImage(name=name, id=TOPICS[name], partitions=MappingProxyType(dict.fromkeys(range(count), partition)))
        for name, count in counts.items()
    ]
    return replace(
        EMPTY_IMAGE,
        topics=TopicsImage(
            by_name=MappingProxyType({topic.name: topic for topic in found}),
            by_id=MappingProxyType({topic.id: topic for topic in found}),
        ),
    )


def _named(names: set[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(names))


class ShareGroupMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.counts = {"red": 2}
        self.image = image_of(self.counts)
        self.catalog = TopicCatalog(lambda: self.image)
        self.settings = GroupSettings(share_group_size_max=3)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.shard = self.new_shard()
        self.now = Now(1_750_000_000_000, 0)
        self.epochs: dict[str, int] = {}
        self.asked: list[tuple[Any, int]] = []

    def new_shard(self) -> GroupShard:
        return GroupShard(self.settings, random.Random(1).randbytes, self.catalog)

    def carry_out(self, decide: Any) -> Any:
        try:
            decision: Decision[Any] = decide()
        except KafkaError as error:
            return error
        for record in decision.records:
            self.log += self.shard.encode_all([record])
            self.shard.replay(record)
        return decision.response

    @property
    def group(self) -> ShareGroup | None:
        group = self.shard.modern.get(GROUP)
        return group if isinstance(group, ShareGroup) else None

    # --- requests

    @rule(member=st.sampled_from(MEMBERS), names=st.none() | topics, epoch=st.sampled_from(["own", "join", "wrong"]))
    def heartbeat(self, member: str, names: set[str] | None, epoch: str) -> None:
        sent = {"own": self.epochs.get(member, 0), "join": 0, "wrong": 99}[epoch]
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member,
            member_epoch=sent,
            subscribed_topic_names=_named(names or {"red"} if sent == 0 else names),
        )
        answer = self.carry_out(lambda: decide_share_heartbeat(self.shard, request, CLIENT, self.now))
        if isinstance(answer, HeartbeatOutcome):
            self.epochs[member] = answer.response.member_epoch
            if answer.to_initialize:
                self.asked.append((answer.to_initialize, answer.state_epoch))
            self.check_assignment(member)

    def check_assignment(self, member: str) -> None:
        group = self.group
        assert group is not None
        state = group.members[member]
        ids = {TOPICS[name] for name in state.subscribed_topic_names}
        for topic_id, indexes in state.assigned.items():
            assert topic_id in ids
            assert indexes, "topics without partitions do not appear"

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        request = ShareGroupHeartbeatRequest(group_id=GROUP, member_id=member, member_epoch=-1)
        self.carry_out(lambda: decide_share_heartbeat(self.shard, request, CLIENT, self.now))
        self.epochs.pop(member, None)

    @rule(passes_ms=st.sampled_from([1, 500, 1_000, 46_000]))
    def time_passes(self, passes_ms: int) -> None:
        self.now = Now(self.now.wall_ms + passes_ms, self.now.monotonic_ms + passes_ms)
        while (key := self.shard.timers.pop_due(self.now.monotonic_ms)) is not None:
            self.carry_out(lambda key=key: self.shard.on_timer(key, self.now))

    # --- the share coordinator answers

    @rule(fails=st.booleans())
    def answer(self, fails: bool) -> None:
        if self.asked:
            partitions, _ = self.asked.pop(0)
            decide = decide_not_initialized if fails else decide_initialized
            self.carry_out(lambda: decide(self.shard, GROUP, partitions))

    # --- administrators

    @rule(name=st.sampled_from(sorted(TOPICS)), count=st.integers(1, 4))
    def grow(self, name: str, count: int) -> None:
        self.counts[name] = max(count, self.counts.get(name, 0))
        self.image = image_of(self.counts)

    @rule(name=st.sampled_from(sorted(TOPICS)))
    def delete_topic(self, name: str) -> None:
        if self.counts.pop(name, None) is not None:
            self.image = image_of(self.counts)
            self.carry_out(lambda: decide_topics_gone(self.shard, [TOPICS[name]]))

    @rule(name=st.sampled_from(sorted(TOPICS)))
    def alter(self, name: str) -> None:
        if name in self.counts:
            self.carry_out(lambda: decide_alter(self.shard, GROUP, [(TOPICS[name], 0)], self.now))

    @rule(name=st.sampled_from(sorted(TOPICS)))
    def delete_offsets(self, name: str) -> None:
        doomed = self.carry_out(lambda: decide_delete(self.shard, GROUP, [TOPICS[name]]))
        if not isinstance(doomed, KafkaError):
            self.carry_out(lambda: decide_deleted(self.shard, GROUP, list(doomed)))

    @rule()
    def delete_group(self) -> None:
        group = self.group
        if group is not None and not group.members:
            self.carry_out(lambda: Decision(None, records=group.removal_records()))
            assert self.group is None

    @rule()
    def crash(self) -> None:
        """In-memory state is lost: waiting requests are gone, and sessions start again."""
        self.asked.clear()
        self.shard = self.recovered()
        self.carry_out(lambda: self.shard.on_loaded(self.now))

    # --- always

    def recovered(self) -> GroupShard:
        shard = self.new_shard()
        for key, value in self.log:
            record = shard.decode(key, value)
            assert record is not None
            shard.replay(record)
        return shard

    @invariant()
    def the_log_tells_all(self) -> None:
        again = self.recovered()
        assert durable(again) == durable(self.shard)

    @invariant()
    def epochs_are_in_order(self) -> None:
        group = self.group
        if group is not None:
            assert group.target_epoch <= group.group_epoch
            assert all(member.member_epoch <= group.target_epoch for member in group.members.values())
            assert len(group.members) <= self.settings.share_group_size_max


def durable(shard: GroupShard) -> dict[str, Any]:
    return {
        group_id: (
            group.group_epoch,
            group.metadata_hash,
            group.target_epoch,
            group.target_timestamp_ms,
            group.targets,
            group.members,
            group.names_subscribed,
            group.state_topics,
        )
        for group_id, group in shard.modern.items()
        if isinstance(group, ShareGroup)
    }


TestShareGroups = ShareGroupMachine.TestCase
TestShareGroups.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
