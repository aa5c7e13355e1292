"""A member of a consumer group (classic protocol): joins, reads what it is assigned, commits, and joins again."""

import datetime
import json
import struct
from collections.abc import Sequence
from typing import Final

from barnabas.testing.simulation.node import SimulatedNode
from barnabas.testing.simulation.workload.history import History, Place
from barnabas.testing.simulation.workload.reader import Reader
from barnabas.testing.simulation.workload.session import Session, Unavailable, UnexpectedCode, check, pause
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SESSION: Final = datetime.timedelta(seconds=6)
JOIN_S: Final = 15.0
_MUST_JOIN: Final = frozenset(
    {ErrorCode.unknown_member_id, ErrorCode.illegal_generation, ErrorCode.rebalance_in_progress}
)


class Member:
    def __init__(
        self, node: SimulatedNode, host: str, name: str, group: str, places: Sequence[Place], history: History
    ) -> None:
        self._node = node
        self._name = name
        self._group = group
        self._places = places
        self._history = history
        self._session = Session(host, name)
        self._subscription = _subscription(sorted({topic for topic, _ in places}))
        self._member_id = ""
        self._generation = -1

    async def run(self, until_ms: int) -> None:
        simulation = self._node.simulation
        while simulation.now_ms < until_ms:
            try:
                readers = await self._join()
                while simulation.now_ms < until_ms:
                    await self._read_and_commit(readers)
            except Unavailable:
                await pause()
            except UnexpectedCode as error:
                if error.code not in _MUST_JOIN:
                    raise
                if error.code == ErrorCode.unknown_member_id:
                    self._member_id = ""
        self._session.close()

    async def _join(self) -> dict[Place, Reader]:
        find = FindCoordinatorRequest(key=self._group)
        check((await self._session.call("find_coordinator", 3, find)).error_code)
        cuts = self._history.power_cuts
        join = JoinGroupRequest(
            group_id=self._group,
            session_timeout=SESSION,
            rebalance_timeout=SESSION,
            member_id=self._member_id,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="dealt", metadata=self._subscription),),
        )
        joined = await self._session.call("join_group", 3, join, timeout_s=JOIN_S)
        check(joined.error_code)
        self._member_id, self._generation = joined.member_id, joined.generation_id
        members = sorted(each.member_id for each in joined.members)  # empty, unless this is the leader
        dealt = {member: self._places[place :: len(members)] for place, member in enumerate(members)}
        sync = SyncGroupRequest(
            group_id=self._group,
            generation_id=self._generation,
            member_id=self._member_id,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=member, assignment=json.dumps(places).encode())
                for member, places in dealt.items()
            ),
        )
        synced = await self._session.call("sync_group", 2, sync, timeout_s=JOIN_S)
        check(synced.error_code)
        mine = [(topic, partition) for topic, partition in json.loads(bytes(synced.assignment) or b"[]")]
        self._history.assigned(self._group, self._generation, self._member_id, mine, sent_after_cuts=cuts)
        return {place: await self._reader(place) for place in mine}

    async def _reader(self, place: Place) -> Reader:
        reader = Reader(self._node, self._session, self._name, place, self._history)
        cuts = self._history.power_cuts
        topic, partition = place
        topics = (OffsetFetchRequestTopic(name=topic, partition_indexes=(partition,)),)
        answer = await self._session.call("offset_fetch", 5, OffsetFetchRequest(group_id=self._group, topics=topics))
        check(answer.error_code)
        found = answer.topics[0].partitions[0]
        check(found.error_code)
        self._history.fetched_commit(self._group, place, found.committed_offset, sent_after_cuts=cuts)
        reader.position = max(found.committed_offset, 0)
        return reader

    async def _read_and_commit(self, readers: dict[Place, Reader]) -> None:
        for place, reader in readers.items():
            if await reader.fetch():
                await self._commit(place, reader.position)
        heartbeat = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member_id)
        check((await self._session.call("heartbeat", 3, heartbeat)).error_code)
        if not readers:
            await pause()

    async def _commit(self, place: Place, offset: int) -> None:
        cuts = self._history.power_cuts
        topic, partition = place
        position = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            topics=(OffsetCommitRequestTopic(name=topic, partitions=(position,)),),
        )
        (answer,) = (await self._session.call("offset_commit", 7, request)).topics
        check(answer.partitions[0].error_code)
        self._history.committed(self._group, place, offset, sent_after_cuts=cuts)


def _subscription(topics: Sequence[str]) -> bytes:
    """Version 0 of Kafka's ConsumerProtocolSubscription."""
    names = b"".join(struct.pack(f">h{len(name)}s", len(name), name.encode()) for name in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)
