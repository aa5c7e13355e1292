"""The load of many groups on a coordinator: offsets committed at a steady rate, and one large group that rebalances."""

import select
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from bench.admin import connect_client
from bench.frames import framed
from bench.sockets import Refused, connect, receive_frame

_COMMIT_VERSION = 8
_JOIN_VERSION = 5
_SYNC_VERSION = 3
CONSUMER_HEARTBEAT_VERSION = 1
_NOT_YET = (
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
)
_SESSION = timedelta(seconds=30)
_POLL_S = 0.05
_GIVE_UP_S = 60.0
_LEFT_BEHIND_S = 0.2


def find_coordinator(port: int, group: str) -> None:
    """Retries until there is one: the first lookup creates __consumer_offsets."""
    deadline = time.monotonic() + _GIVE_UP_S
    with connect_client(port) as client:
        while client.call("find_coordinator", 3, FindCoordinatorRequest(key=group)).error_code != ErrorCode.none:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no coordinator for {group} after {_GIVE_UP_S:.0f} s")
            time.sleep(_POLL_S)


def found_groups(port: int, groups: Sequence[str], topic: str, partitions: int) -> None:
    """Every group commits once; retries while the coordinator is loading."""
    with connect_client(port) as client:
        for group in groups:
            deadline = time.monotonic() + _GIVE_UP_S
            while (code := _commit_once(client, group, topic, partitions)) != ErrorCode.none:
                if time.monotonic() > deadline:
                    raise Refused(f"{group} cannot commit: {code.name}")
                time.sleep(_POLL_S)


def commit_at(
    port: int, groups: Sequence[str], topic: str, partitions: int, offsets_per_s: float, seconds: float
) -> int:
    """One request for all partitions, for each group in rotation. Returns how many offsets were committed."""
    frames = [framed("offset_commit", _COMMIT_VERSION, _commit(group, topic, partitions)) for group in groups]
    interval_s = partitions / offsets_per_s
    answered = 0
    answer_size = None
    with connect(port) as connection:
        started = time.perf_counter()
        while (elapsed := time.perf_counter() - started) < seconds:
            if (early := answered * interval_s - elapsed) > 0:
                time.sleep(early)
            connection.sendall(frames[answered % len(frames)])
            answer = receive_frame(connection)
            answer_size = answer_size or len(answer)
            if len(answer) != answer_size:
                raise Refused(f"an answer of {len(answer)} bytes came where {answer_size} were expected")
            answered += 1
    return answered * partitions


def rebalance(port: int, group: str, members: int, interval_s: float, seconds: float) -> int:
    """A group that rebalances at every interval: all members rejoin and sync. Returns the number of rebalances."""
    with ExitStack() as stack:
        clients = [stack.enter_context(connect_client(port)) for _ in range(members)]
        ids = [_new_member_id(client, group) for client in clients]
        started = time.perf_counter()
        rounds = 0
        leader = 0
        while time.perf_counter() - started < seconds:
            time.sleep(max(0.0, started + rounds * interval_s - time.perf_counter()))
            # A rejoining leader triggers a rebalance; the others follow.
            order = [leader, *(index for index in range(members) if index != leader)]
            joined = _join_all(clients, group, ids, order)
            leader = ids.index(joined[0].leader)
            assignments = tuple(SyncGroupRequestAssignment(member_id=one, assignment=bytes(100)) for one in ids)
            for index, client in enumerate(clients):
                request = SyncGroupRequest(
                    group_id=group,
                    generation_id=joined[index].generation_id,
                    member_id=ids[index],
                    assignments=assignments if index == leader else (),
                )
                client.send("sync_group", _SYNC_VERSION, request)
            _check([client.receive() for client in clients])
            rounds += 1
        return rounds


def join_alone(port: int, groups: Sequence[str]) -> list[tuple[int, str]]:
    """One member joins each group; its generation and its id. All at once: a first member waits for others to come."""
    with ExitStack() as stack:
        clients = [stack.enter_context(connect_client(port)) for _ in groups]
        ids = [_new_member_id(client, group) for client, group in zip(clients, groups, strict=True)]
        for client, group, member_id in zip(clients, groups, ids, strict=True):
            client.send("join_group", _JOIN_VERSION, _join(group, member_id))
        joined = [client.receive() for client in clients]
        _check(joined)
        for client, group, answer in zip(clients, groups, joined, strict=True):
            mine = SyncGroupRequestAssignment(member_id=answer.member_id, assignment=bytes(100))
            request = SyncGroupRequest(
                group_id=group, generation_id=answer.generation_id, member_id=answer.member_id, assignments=(mine,)
            )
            client.send("sync_group", _SYNC_VERSION, request)
        _check([client.receive() for client in clients])
        return [(answer.generation_id, answer.member_id) for answer in joined]


def join_consumer_groups(port: int, groups: Sequence[str], topic: str) -> list[ConsumerGroupHeartbeatRequest]:
    """One member joins each group with the new protocol (KIP-848) and takes its partitions.

    Returns the heartbeats that these members send from then on, while nothing changes.
    """
    with connect_client(port) as client:
        return [_join_consumer_group(client, group, topic) for group in groups]


def _join_consumer_group(client: Client, group: str, topic: str) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=str(uuid4()),
        rebalance_timeout=_SESSION,
        subscribed_topic_names=(topic,),
        topic_partitions=(),
    )
    deadline = time.monotonic() + _GIVE_UP_S
    has_partitions = False
    while True:
        answer = client.call("consumer_group_heartbeat", CONSUMER_HEARTBEAT_VERSION, request)
        if answer.error_code == ErrorCode.none:
            steady = ConsumerGroupHeartbeatRequest(
                group_id=group, member_id=request.member_id, member_epoch=answer.member_epoch
            )
            if answer.assignment is None and has_partitions:
                return steady
            request = steady
            if answer.assignment is not None:
                owned = answer.assignment.topic_partitions
                has_partitions = bool(owned)
                request = replace(steady, topic_partitions=owned)
        elif answer.error_code not in _NOT_YET:
            raise Refused(f"{group} cannot be joined: {answer.error_code.name}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"the member of {group} has no partitions after {_GIVE_UP_S:.0f} s")
        time.sleep(_POLL_S)


def _join_all(clients: Sequence[Client], group: str, ids: Sequence[str], order: Sequence[int]) -> list[Any]:
    """Rejoin until all have the same generation: a server may start one before all members have joined."""
    answers: dict[int, Any] = {}
    waiting = set(order)
    for index in order:
        clients[index].send("join_group", _JOIN_VERSION, _join(group, ids[index]))
    while waiting or len({answer.generation_id for answer in answers.values()}) > 1:
        ready = select.select([clients[index] for index in waiting], [], [], _LEFT_BEHIND_S)[0]
        for client in ready:
            index = clients.index(client)
            answers[index] = client.receive()
            waiting.discard(index)
        _check(list(answers.values()))
        if not ready:
            for index in answers.keys() - waiting:
                clients[index].send("join_group", _JOIN_VERSION, _join(group, ids[index]))
                waiting.add(index)
    return [answers[index] for index in range(len(clients))]


def _new_member_id(client: Client, group: str) -> str:
    deadline = time.monotonic() + _GIVE_UP_S
    while (answer := client.call("join_group", _JOIN_VERSION, _join(group, ""))).error_code != (
        ErrorCode.member_id_required
    ):
        if time.monotonic() > deadline:
            raise Refused(f"a member of {group} got no id: {answer.error_code}")
        time.sleep(_POLL_S)
    return str(answer.member_id)


def _check(answers: Sequence[object]) -> None:
    for answer in answers:
        code = getattr(answer, "error_code", None)
        if code != ErrorCode.none:
            raise Refused(f"a member got the error {code}")


def _join(group: str, member_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout=_SESSION,
        rebalance_timeout=_SESSION,
        member_id=member_id,
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=bytes(100)),),
    )


def _commit_once(client: Client, group: str, topic: str, partitions: int) -> ErrorCode:
    answer = client.call("offset_commit", _COMMIT_VERSION, _commit(group, topic, partitions))
    codes = {one.error_code for found in answer.topics for one in found.partitions}
    return ErrorCode(max(codes))


def _commit(group: str, topic: str, partitions: int) -> OffsetCommitRequest:
    wanted = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1_000 + index, committed_metadata="")
        for index in range(partitions)
    )
    return OffsetCommitRequest(group_id=group, topics=(OffsetCommitRequestTopic(name=topic, partitions=wanted),))
