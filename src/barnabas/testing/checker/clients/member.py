"""A group member that commits after processing. Some members leave after a while."""

import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from barnabas.testing.checker.clients.session import Session, error_of, partition_name, report
from barnabas.testing.checker.events import Assign, Commit, Committed, Poll

BATCH_MAX = 100
BATCH_SECONDS_MAX = 0.2
STAY_SECONDS = (3.0, 25.0)


class Member:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._group: str = session.spec.settings["group"]
        self._batch: dict[str, list[tuple[int, str]]] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._commits = 0
        session.introduce(group=self._group)
        self._consumer = Consumer(
            session.config(
                group_id=self._group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                fetch_wait_max_ms=100,
                **_protocol(session.spec.settings["protocol"], session.spec.settings["assignor"]),
            )
        )

    def run(self) -> None:
        session = self._session
        leave_at = time.monotonic() + session.rng.uniform(*STAY_SECONDS)
        self._consumer.subscribe(
            list(session.spec.topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        try:
            while not session.stopping.is_set():
                if session.spec.settings["leaves"] and time.monotonic() > leave_at:
                    break
                self._take_a_batch()
                self._finish_batch()
        finally:
            # Outside the batch: closing revokes the partitions, and commits what was processed.
            self._consumer.close()

    def _take_a_batch(self) -> None:
        """Poll one by one, so that a rebalance never happens within a call that returns many records."""
        until = time.monotonic() + BATCH_SECONDS_MAX
        for _ in range(BATCH_MAX):
            message = self._consumer.poll(max(0.0, until - time.monotonic()))
            if message is None:
                return
            self._keep(message)

    def _keep(self, message: Message) -> None:
        if message.error() is not None:
            report(message.error())
            return
        partition = partition_name(message.topic(), message.partition())
        self._batch.setdefault(partition, []).append((message.offset(), message.value().decode()))
        self._positions[message.topic(), message.partition()] = message.offset() + 1

    def _finish_batch(self) -> None:
        batch, positions = self._batch, self._positions
        self._batch, self._positions = {}, {}
        if not batch:
            return
        session = self._session
        session.note(Poll(t=session.now(), p=session.name, records=batch))
        self._commits += 1
        offsets = {partition_name(*place): offset for place, offset in positions.items()}
        session.note(Commit(t=session.now(), p=session.name, group=self._group, offsets=offsets, number=self._commits))
        try:
            answers = self._consumer.commit(
                offsets=[TopicPartition(*place, offset) for place, offset in positions.items()], asynchronous=False
            )
            error = next((str(each.error) for each in answers if each.error is not None), "")
        except KafkaException as failure:
            error = error_of(failure).name()
            report(f"commit: {failure}")
        session.note(Committed(t=session.now(), p=session.name, number=self._commits, error=error))

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._finish_batch()
        positions = {partition_name(each.topic, each.partition): -1 for each in partitions}
        self._session.note(Assign(t=self._session.now(), p=self._session.name, positions=positions))

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._finish_batch()

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Another member has the partitions already, so nothing is committed."""
        batch, self._batch, self._positions = self._batch, {}, {}
        if batch:
            self._session.note(Poll(t=self._session.now(), p=self._session.name, records=batch))


def _protocol(protocol: str, assignor: str) -> dict[str, Any]:
    """With `consumer` the broker sets the timeouts."""
    if protocol == "consumer":
        return {"group_protocol": "consumer", "group_remote_assignor": assignor}
    return {
        "partition_assignment_strategy": assignor,
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 500,
    }


def run(session: Session) -> None:
    Member(session).run()
