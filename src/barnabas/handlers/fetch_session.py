"""Incremental fetch sessions (KIP-227): a client of a thousand partitions names them once, not in every request.

    epoch -1         no session; ends the one named by the id
    epoch 0          all partitions are named; a session is made if there is room
    epoch n > 0      only changes are named; the answer holds only partitions that have something to say

A session belongs to the client that got its id; ids are random so that one cannot be guessed by accident. The cache is
bounded: when it is full, a session unused for `EVICTABLE_AFTER_MS` gives way, else the newcomer goes without.
"""

import random
import uuid
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from barnabas.wire.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from barnabas.wire.fetch_response import FetchedPartition, FetchedTopic
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EVICTABLE_AFTER_MS: Final = 120_000

TopicKey = str | uuid.UUID | None
"""Topics are named up to version 12 and identified after; one session keeps to one way."""


class Wanted:
    """One partition that a fetch asks for, and what its reader has been told of it."""

    __slots__ = ("fetch_offset", "high_watermark", "index", "leader_epoch", "log_start_offset", "max_bytes", "topic")

    def __init__(self, topic: TopicKey, asked: FetchPartition) -> None:
        self.topic = topic
        self.index = asked.partition
        self.high_watermark = -1
        self.log_start_offset = -1
        self.update(asked)

    def update(self, asked: FetchPartition) -> None:
        self.fetch_offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.leader_epoch = asked.current_leader_epoch

    def is_news(self, answer: FetchedPartition) -> bool:
        """Does an incremental answer have to mention this partition? Remembers what was told."""
        changed = (
            bool(answer.records)
            or answer.error_code != 0
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.diverging is not None
        )
        # After an error nothing is certain: the next answer mentions the partition again.
        self.high_watermark = answer.high_watermark if answer.error_code == 0 else -1
        self.log_start_offset = answer.log_start_offset
        return changed


class FetchSession:
    def __init__(self, session_id: int, wanted: Iterable[Wanted], *, by_id: bool, now_ms: int) -> None:
        self.id = session_id
        self.epoch = 1
        self.by_id = by_id
        self.last_used_ms = now_ms
        self.wanted = OrderedDict(((each.topic, each.index), each) for each in wanted)


class FetchPlan:
    """What one request is to read, and how its answer is put together."""

    def __init__(self, wanted: list[Wanted], session: FetchSession | None, *, incremental: bool) -> None:
        self.wanted = wanted
        self._session = session
        self.is_incremental = incremental

    @property
    def session_id(self) -> int:
        return self._session.id if self._session else NO_SESSION

    def topics(self, answers: list[FetchedPartition], names: dict[TopicKey, str]) -> list[FetchedTopic]:
        """Answers in the order of `wanted`, grouped by topic; an incremental one leaves out what is not news."""
        grouped: dict[TopicKey, list[FetchedPartition]] = {}
        for wanted, answer in zip(self.wanted, answers, strict=True):
            if self._session is None:
                grouped.setdefault(wanted.topic, []).append(answer)
                continue
            news = wanted.is_news(answer)
            if news or not self.is_incremental:
                grouped.setdefault(wanted.topic, []).append(answer)
            if answer.records:
                # Who got bytes goes to the end of the queue, so that a busy partition cannot starve the others.
                self._session.wanted.move_to_end((wanted.topic, wanted.index))
        return [
            FetchedTopic(names.get(topic, ""), topic if isinstance(topic, uuid.UUID) else None, partitions)
            for topic, partitions in grouped.items()
        ]


class FetchSessions:
    def __init__(self, *, slots: int, random_source: random.Random) -> None:
        self._slots = slots
        self._random = random_source
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(self, request: FetchRequest, *, version: int, now_ms: int) -> FetchPlan:
        by_id = version >= 13
        if version < 7 or request.session_epoch == FINAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            return FetchPlan(_asked(request, by_id), None, incremental=False)
        if request.session_epoch == INITIAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            wanted = _asked(request, by_id)
            return FetchPlan(wanted, self._create(wanted, by_id, now_ms), incremental=False)
        return self._continue(request, by_id, now_ms)

    def keep_without_answer(self, plan: FetchPlan) -> int:
        """The client is told nothing this time (a quota). A session that it knows goes on; a new one is not begun."""
        if plan.is_incremental:
            return plan.session_id
        self._sessions.pop(plan.session_id, None)
        return NO_SESSION

    def _create(self, wanted: list[Wanted], by_id: bool, now_ms: int) -> FetchSession | None:
        if not wanted:
            return None
        if len(self._sessions) >= self._slots and not self._evict(now_ms):
            return None
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._random.randrange(1, 2**31)
        session = FetchSession(session_id, wanted, by_id=by_id, now_ms=now_ms)
        self._sessions[session_id] = session
        return session

    def _evict(self, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now_ms - oldest.last_used_ms <= EVICTABLE_AFTER_MS:
            return False
        del self._sessions[oldest.id]
        return True

    def _continue(self, request: FetchRequest, by_id: bool, now_ms: int) -> FetchPlan:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise FetchSessionIdNotFound(f"no fetch session {request.session_id}")
        if session.epoch != request.session_epoch:
            raise InvalidFetchSessionEpoch(f"epoch {request.session_epoch}, expected {session.epoch}")
        if session.by_id != by_id:
            raise FetchSessionTopicIdError("the session names its topics the other way")
        session.epoch = session.epoch + 1 if session.epoch < 2**31 - 1 else 1
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session.id)
        for topic in request.topics:
            key: TopicKey = topic.topic_id if by_id else topic.topic
            for asked in topic.partitions:
                known = session.wanted.get((key, asked.partition))
                if known is None:
                    session.wanted[key, asked.partition] = Wanted(key, asked)
                else:
                    known.update(asked)
        for forgotten in request.forgotten_topics_data:
            key = forgotten.topic_id if by_id else forgotten.topic
            for index in forgotten.partitions:
                session.wanted.pop((key, index), None)
        return FetchPlan(list(session.wanted.values()), session, incremental=True)


def _asked(request: FetchRequest, by_id: bool) -> list[Wanted]:
    return [
        Wanted(topic.topic_id if by_id else topic.topic, asked)
        for topic in request.topics
        for asked in topic.partitions
    ]
