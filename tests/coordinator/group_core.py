"""A group shard driven by the test: the test moves time, and records are committed at once or when the test says so."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Self

from barnabas.coordinator.core.decision import Decision, Now, Parked
from barnabas.coordinator.core.ports import KeyValue
from barnabas.coordinator.group.classic.join import Joining, MemberIdAssigned
from barnabas.coordinator.group.classic.subscription import Subscription
from barnabas.coordinator.group.classic_protocol import (
    any_heartbeat,
    decide_any_join,
    decide_any_leave,
    decide_any_sync,
)
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.job import Job
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.offsets.commit import decide_commit
from barnabas.coordinator.group.shard import GroupShard
from barnabas.coordinator.group.stored import decode_record
from barnabas.wire.codec import encode
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

START_MS = 1_750_000_000_000
CLIENT = ClientInfo("client", "/127.0.0.1")
SESSION_MS = 10_000
REBALANCE_MS = 60_000

WAITING = object()


def subscription(*topics: str) -> bytes:
    return b"\0\0" + encode(Subscription(topics=topics), 0)


def join_request(
    group: str = "g",
    member: str = "",
    instance: str | None = None,
    protocols: dict[str, bytes] | None = None,
    protocol_type: str = "consumer",
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
) -> JoinGroupRequest:
    offered = {"range": subscription("t")} if protocols is None else protocols
    return JoinGroupRequest(
        group_id=group,
        member_id=member,
        group_instance_id=instance,
        session_timeout=timedelta(milliseconds=session_ms),
        rebalance_timeout=timedelta(milliseconds=rebalance_ms),
        protocol_type=protocol_type,
        protocols=tuple(JoinGroupRequestProtocol(name=name, metadata=data) for name, data in offered.items()),
    )


def commit_request(
    offsets: dict[tuple[str, int], int],
    group: str = "g",
    member: str = "",
    generation: int = -1,
    instance: str | None = None,
    metadata: str | None = "",
    retention_ms: int = -1,
    topic_id: Any = None,
) -> OffsetCommitRequest:
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=partition, committed_offset=offset, committed_metadata=metadata
            )
        )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        retention_time=timedelta(milliseconds=retention_ms),
        topics=tuple(
            OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=tuple(partitions))
            for name, partitions in topics.items()
        ),
    )


def name_of(error: KafkaError | None) -> str:
    return "none" if error is None else error.code.name


class Answer:
    """The outcome of a request: a response, an error, or still waiting."""

    def __init__(self) -> None:
        self.outcome: Any = WAITING

    @property
    def is_waiting(self) -> bool:
        return self.outcome is WAITING

    @property
    def response(self) -> Any:
        assert not self.is_waiting, "the request is still parked"
        assert not isinstance(self.outcome, KafkaError), repr(self.outcome)
        return self.outcome

    @property
    def error(self) -> str:
        """The name of the error, or the empty string."""
        assert not self.is_waiting, "the request is still parked"
        return type(self.outcome).__name__ if isinstance(self.outcome, KafkaError) else ""


class Core:
    """Like the runtime: decide, append, replay, release. `hold` delays commits; `refuse` fails appends."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.random = random.Random(0)
        self.shard = self.new_shard()
        self.log: list[KeyValue] = []
        self.jobs: list[Job] = []
        """Started and not done yet."""
        self.now = Now(START_MS, 0)
        self.parked: dict[Parked[Any], Answer] = {}
        self.hold = False
        self.held: list[tuple[Decision[Any], Answer]] = []
        self.refuse: KafkaError | None = None
        self.carry_out(self.shard.on_loaded(self.now), Answer())

    def new_shard(self) -> GroupShard:
        return GroupShard(self.settings, self.random.randbytes)

    # The runtime's part

    def decide(self, decide: Callable[[GroupShard, Now], Decision[Any]]) -> Answer:
        answer = Answer()
        try:
            decision = decide(self.shard, self.now)
        except KafkaError as error:
            answer.outcome = error
            return answer
        if isinstance(decision.response, Parked):
            self.parked[decision.response] = answer
        self.carry_out(decision, answer)
        return answer

    def carry_out(self, decision: Decision[Any], answer: Answer) -> None:
        if decision.records and self.refuse is not None:
            self.release(decision)
            if not isinstance(decision.response, Parked):
                answer.outcome = self.refuse
            if decision.on_failed is not None:
                self.carry_out(decision.on_failed(self.refuse, self.now), Answer())
            return
        self.log += self.shard.encode_all(decision.records)
        for record in decision.records:
            self.shard.replay(record)
        self.release(decision)
        if decision.records and self.hold:
            self.held.append((decision, answer))
        else:
            self.commit(decision, answer)

    def commit(self, decision: Decision[Any], answer: Answer) -> None:
        if not isinstance(decision.response, Parked):
            answer.outcome = decision.response
        for job in decision.sends:
            if job.key not in self.shard.jobs:
                self.shard.jobs.add(job.key)
                self.jobs.append(job)
        if decision.on_committed is not None:
            self.carry_out(decision.on_committed(self.now), Answer())

    def run_jobs(self) -> None:
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            self.shard.jobs.discard(job.key)
            self.carry_out(job.then(self.shard, job.run(), self.now), Answer())

    def commit_held(self) -> None:
        held, self.held, self.hold = self.held, [], False
        for decision, answer in held:
            self.commit(decision, answer)

    def fail_held(self, error: KafkaError) -> None:
        held, self.held, self.hold = self.held, [], False
        for decision, answer in held:
            if not isinstance(decision.response, Parked):
                answer.outcome = error
            if decision.on_failed is not None:
                self.carry_out(decision.on_failed(error, self.now), Answer())

    def release(self, decision: Decision[Any]) -> None:
        for parked, outcome in decision.releases:
            self.parked.pop(parked).outcome = outcome

    def advance(self, by_ms: int) -> None:
        target = self.now.monotonic_ms + by_ms
        while (due := self.shard.timers.next_ms()) is not None and due <= target:
            self._move_to(max(due, self.now.monotonic_ms))
            while (key := self.shard.timers.pop_due(self.now.monotonic_ms)) is not None:
                self.carry_out(self.shard.on_timer(key, self.now), Answer())
        self._move_to(target)

    def _move_to(self, monotonic_ms: int) -> None:
        self.now = Now(self.now.wall_ms + monotonic_ms - self.now.monotonic_ms, monotonic_ms)

    def reloaded(self) -> Self:
        """Another coordinator that reads the same log."""
        other = type(self).__new__(type(self))
        other.settings, other.now, other.log = self.settings, self.now, list(self.log)
        other.parked, other.hold, other.held, other.refuse = {}, False, [], None
        other.random, other.jobs = self.random, []
        self.hand_over(other)
        other.shard = other.new_shard()
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            other.shard.replay(record)
        other.carry_out(other.shard.on_loaded(other.now), Answer())
        return other

    def hand_over(self, other: Any) -> None:
        """State that a new coordinator gets too."""

    # The clients' part

    def join(self, *, version: int = 9, client: ClientInfo = CLIENT, **fields: Any) -> Answer:
        joining = Joining.from_request(join_request(**fields), client, version)
        return self.decide(lambda shard, now: decide_any_join(shard, joining, now))

    def join_with_id(self, **fields: Any) -> tuple[str, Answer]:
        """Ask for an id, then join with it."""
        refused = self.join(**fields)
        assert isinstance(refused.outcome, MemberIdAssigned), refused.outcome
        member = refused.outcome.member_id
        return member, self.join(member=member, **fields)

    def sync(
        self,
        member: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        group: str = "g",
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol: str | None = None,
    ) -> Answer:
        request = SyncGroupRequest(
            group_id=group,
            member_id=member,
            generation_id=generation,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=each, assignment=data)
                for each, data in (assignments or {}).items()
            ),
        )
        return self.decide(lambda shard, now: decide_any_sync(shard, request, now))

    def heartbeat(self, member: str, generation: int, group: str = "g", instance: str | None = None) -> str:
        """The name of the error, or the empty string."""
        request = HeartbeatRequest(
            group_id=group, member_id=member, generation_id=generation, group_instance_id=instance
        )
        try:
            any_heartbeat(self.shard, request, self.now.monotonic_ms)
        except KafkaError as error:
            return type(error).__name__
        return ""

    def leave(self, *members: str | tuple[str, str | None], group: str = "g") -> Answer:
        identities = [each if isinstance(each, tuple) else (each, None) for each in members]
        request = LeaveGroupRequest(
            group_id=group,
            members=tuple(MemberIdentity(member_id=each, group_instance_id=inst) for each, inst in identities),
        )
        return self.decide(lambda shard, now: decide_any_leave(shard, request, now))

    def commit_offsets(self, offsets: dict[tuple[str, int], int], version: int = 9, **fields: Any) -> Answer:
        request = commit_request(offsets, **fields)
        return self.decide(lambda shard, now: decide_commit(shard, request, version, now))

    # Common situations

    @property
    def initial_delay_ms(self) -> int:
        return self.settings.initial_rebalance_delay_ms

    def state(self, group: str = "g") -> str:
        found = self.shard.groups.get(group)
        return "none" if found is None else found.state.value

    def offset(self, topic: str = "t", partition: int = 0, group: str = "g") -> int | None:
        committed = self.shard.offsets.get(group, {}).get(topic, {}).get(partition)
        return None if committed is None else committed.offset

    def stable(self, size: int = 1, **fields: Any) -> list[str]:
        """A group of dynamic members, the leader first, in generation 1, each with its own name as assignment."""
        joining = [self.join_with_id(**fields) for _ in range(size)]
        self.advance(2 * self.initial_delay_ms)
        members = [member for member, _ in joining]
        generation = joining[0][1].response.generation_id
        leader = joining[0][1].response.leader
        members.sort(key=lambda member: member != leader)
        for member in members[1:]:
            self.sync(member, generation)
        answer = self.sync(leader, generation, {member: member.encode() for member in members})
        assert answer.response.assignment == leader.encode()
        assert self.state() == "Stable"
        return members
