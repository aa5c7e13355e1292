"""Incremental fetch sessions (KIP-227): a client of a thousand partitions names them once, not in every request.

    epoch -1         no session; ends the one named by the id
    epoch 0          all partitions are named; a session is created if the cache has room
    epoch n > 0      only changes are named; the answer holds only partitions with records, errors or new offsets

A session belongs to the client that got its id; ids are random so that none is used by accident. The cache is bounded:
when it is full, a session unused for `EVICTABLE_AFTER_MS` is evicted; if there is none, the client gets no session.
"""

import random
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from barnabas.metadata.image import ClusterImage
from barnabas.replication.partition import Partition
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
"""A name up to version 12, an id from version 13 on; all topics of one session use the same."""


class RequestedPartition:
    """One partition of a fetch, with the high watermark and log start offset that were last sent to the client."""

    __slots__ = (
        "_image",
        "_replica",
        "fetch_offset",
        "high_watermark",
        "index",
        "leader_epoch",
        "log_start_offset",
        "max_bytes",
        "topic",
    )

    def __init__(self, topic: TopicKey, asked: FetchPartition) -> None:
        self.topic = topic
        self.index = asked.partition
        self.high_watermark = -1
        self.log_start_offset = -1
        self._replica: Partition | None = None
        self.update(asked)

    def update(self, asked: FetchPartition) -> None:
        self.fetch_offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.leader_epoch = asked.current_leader_epoch
        self._image: ClusterImage | None = None

    def resolved(self, replica: Partition, image: ClusterImage) -> None:
        """This broker leads the partition, in the epoch that the client knows, as long as the image is the same."""
        self._replica = replica
        self._image = image

    def idle_replica(self, image: ClusterImage) -> Partition | None:
        """The replica, if nothing has changed since the last answer: there is nothing to read or to report."""
        if self._image is not image or self._replica is None:
            return None
        log = self._replica.opened_log
        if (
            log is not None
            and self.fetch_offset == self.high_watermark == log.high_watermark
            and self.log_start_offset == log.log_start_offset
            and log.health.error is None
        ):
            return self._replica
        return None

    def must_be_sent(self, answer: FetchedPartition) -> bool:
        """Whether an incremental answer must include this partition. Remembers what was sent."""
        changed = (
            bool(answer.records)
            or answer.error_code != 0
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.diverging is not None
        )
        # After an error the client's view is unknown: the next answer includes the partition again.
        self.high_watermark = answer.high_watermark if answer.error_code == 0 else -1
        self.log_start_offset = answer.log_start_offset
        return changed


class FetchSession:
    def __init__(self, session_id: int, partitions: Iterable[RequestedPartition], *, by_id: bool, now_ms: int) -> None:
        self.id = session_id
        self.epoch = 1
        self.by_id = by_id
        self.last_used_ms = now_ms
        self.partitions = OrderedDict(((each.topic, each.index), each) for each in partitions)


class FetchPlan:
    """Which partitions one request reads, and how its answer is put together."""

    def __init__(
        self, partitions: list[RequestedPartition], session: FetchSession | None, *, incremental: bool
    ) -> None:
        self.partitions = partitions
        self._session = session
        self.is_incremental = incremental

    @property
    def session_id(self) -> int:
        return self._session.id if self._session else NO_SESSION

    def topics(self, answers: Sequence[FetchedPartition | None], names: dict[TopicKey, str]) -> list[FetchedTopic]:
        """Answers in the order of `partitions`, grouped by topic; an incremental one leaves out unchanged ones."""
        grouped: dict[TopicKey, list[FetchedPartition]] = {}
        for partition, answer in zip(self.partitions, answers, strict=True):
            if answer is None:
                continue
            if self._session is None:
                grouped.setdefault(partition.topic, []).append(answer)
                continue
            must_be_sent = partition.must_be_sent(answer)
            if must_be_sent or not self.is_incremental:
                grouped.setdefault(partition.topic, []).append(answer)
            if answer.records:
                # A partition that returned records moves to the end, so that a busy one cannot starve the others.
                self._session.partitions.move_to_end((partition.topic, partition.index))
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
            return FetchPlan(_requested_partitions(request, by_id), None, incremental=False)
        if request.session_epoch == INITIAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            partitions = _requested_partitions(request, by_id)
            return FetchPlan(partitions, self._create(partitions, by_id, now_ms), incremental=False)
        return self._continue(request, by_id, now_ms)

    def keep_without_answer(self, plan: FetchPlan) -> int:
        """The client gets an empty answer this time (a quota). An existing session is kept, a new one is dropped."""
        if plan.is_incremental:
            return plan.session_id
        self._sessions.pop(plan.session_id, None)
        return NO_SESSION

    def _create(self, partitions: list[RequestedPartition], by_id: bool, now_ms: int) -> FetchSession | None:
        if not partitions:
            return None
        if len(self._sessions) >= self._slots and not self._evict(now_ms):
            return None
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._random.randrange(1, 2**31)
        session = FetchSession(session_id, partitions, by_id=by_id, now_ms=now_ms)
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
            raise FetchSessionTopicIdError("the session mixes topic names and topic ids")
        session.epoch = session.epoch + 1 if session.epoch < 2**31 - 1 else 1
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session.id)
        for topic in request.topics:
            key: TopicKey = topic.topic_id if by_id else topic.topic
            for asked in topic.partitions:
                known = session.partitions.get((key, asked.partition))
                if known is None:
                    session.partitions[key, asked.partition] = RequestedPartition(key, asked)
                else:
                    known.update(asked)
        for forgotten in request.forgotten_topics_data:
            key = forgotten.topic_id if by_id else forgotten.topic
            for index in forgotten.partitions:
                session.partitions.pop((key, index), None)
        return FetchPlan(list(session.partitions.values()), session, incremental=True)


def _requested_partitions(request: FetchRequest, by_id: bool) -> list[RequestedPartition]:
    return [
        RequestedPartition(topic.topic_id if by_id else topic.topic, asked)
        for topic in request.topics
        for asked in topic.partitions
    ]
