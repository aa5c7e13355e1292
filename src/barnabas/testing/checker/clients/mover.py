"""Read-process-write, exactly once: offsets are committed in the transaction of the output."""

import time

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from barnabas.testing.checker.clients.reader import records_of
from barnabas.testing.checker.clients.session import Session, partition_name, report
from barnabas.testing.checker.clients.transacting import Abandon, Failed, RdkafkaTransactions
from barnabas.testing.checker.events import Assign, Commit, Poll

BATCH_MAX = 50
BATCH_SECONDS_MAX = 0.1
ABORTS_OF_TWENTY = 1


class Mover:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._group: str = session.spec.settings["group"]
        self._source: str = session.spec.settings["source"]
        self._target: str = session.spec.settings["target"]
        self._transactions = RdkafkaTransactions(session)
        self._was_reassigned = False
        self._commits = 0
        session.introduce(group=self._group, transactional_id=self._transactions.transactional_id)
        self._consumer = Consumer(
            session.config(
                group_id=self._group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                session_timeout_ms=6000,
                heartbeat_interval_ms=500,
                fetch_wait_max_ms=100,
            )
        )

    def run(self) -> None:
        try:
            self._transactions.start()
            self._consumer.subscribe([self._source], on_assign=self._assigned, on_revoke=self._revoked)
            while not self._session.stopping.is_set():
                batch = self._take_a_batch()
                if batch:
                    self._move(batch)
        finally:
            self._consumer.close()

    def _take_a_batch(self) -> dict[str, list[tuple[int, str]]]:
        self._was_reassigned = False
        messages: list[Message] = []
        until = time.monotonic() + BATCH_SECONDS_MAX
        for _ in range(BATCH_MAX):
            message = self._consumer.poll(max(0.0, until - time.monotonic()))
            if self._was_reassigned:
                # Records polled before the rebalance may belong to another member now.
                messages = []
                self._was_reassigned = False
            if message is None:
                break
            messages.append(message)
        records = records_of(messages)
        if records:
            self._session.note(Poll(t=self._session.now(), p=self._session.name, records=records))
        return records

    def _move(self, batch: dict[str, list[tuple[int, str]]]) -> None:
        session, transactions = self._session, self._transactions
        txn = transactions.begin()
        try:
            for records in batch.values():
                index = session.rng.randrange(session.spec.topics[self._target])
                made = [f"{value}>{txn}" for _, value in records]
                transactions.send(self._target, index, made, sources=[value for _, value in records])
            self._commit_offsets(txn, batch)
        except Failed as failure:
            transactions.give_up(failure)
            committed = False
        else:
            if session.rng.randrange(20) < ABORTS_OF_TWENTY:
                transactions.abort()
                committed = False
            else:
                committed = transactions.commit()
        if not committed:
            self._go_back(batch)

    def _commit_offsets(self, txn: str, batch: dict[str, list[tuple[int, str]]]) -> None:
        session = self._session
        offsets = {partition: records[-1][0] + 1 for partition, records in batch.items()}
        self._commits += 1
        session.note(
            Commit(t=session.now(), p=session.name, group=self._group, offsets=offsets, number=self._commits, txn=txn)
        )
        positions = [TopicPartition(*_split(partition), offset) for partition, offset in offsets.items()]
        self._transactions.send_offsets(positions, self._consumer.consumer_group_metadata())

    def _go_back(self, batch: dict[str, list[tuple[int, str]]]) -> None:
        """Seek to the beginning of this batch in the partitions that are still assigned."""
        own = {(each.topic, each.partition) for each in self._consumer.assignment()}
        for partition, records in batch.items():
            if _split(partition) not in own:
                continue
            session = self._session
            positions = {partition: records[0][0]}
            session.note(Assign(t=session.now(), p=session.name, positions=positions))
            self._consumer.seek(TopicPartition(*_split(partition), records[0][0]))

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._was_reassigned = True
        positions = {partition_name(each.topic, each.partition): -1 for each in partitions}
        self._session.note(Assign(t=self._session.now(), p=self._session.name, positions=positions))

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._was_reassigned = True


def _split(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index)


def run(session: Session) -> None:
    """Ends when its producer fails for good; another client replaces it."""
    try:
        Mover(session).run()
    except (Abandon, KafkaException) as failure:
        report(f"ends: {failure!r} {failure.__cause__ or ''}")
