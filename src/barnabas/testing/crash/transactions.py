"""Transactions in the workload: each writes to two topics, is committed or aborted, and must be complete or absent.

After a crash in the middle, the next attempt uses the same transactional id, which ends the open transaction. If an
EndTxn was not answered, the transaction may be committed or not, but equally in both topics.

A power cut may lose unsynced records, markers and decisions independently of each other. With a single replica,
transactions have no guarantee then, as in Apache Kafka; so after one it is only verified that the broker works.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from barnabas.records.batch import split_batches
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing.crash.running_broker import NotReady, Refused, RunningBroker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TRANSACTIONAL_ID: Final = "bookkeeper"
TOPICS: Final = ("account", "receipt")
TRANSACTION_TIMEOUT: Final = datetime.timedelta(minutes=10)
TIMEOUT: Final = datetime.timedelta(seconds=20)
TIMESTAMP_MS: Final = 1_750_000_000_000
RECORDS: Final = 2
"""Records of each attempt, per topic."""

READ_COMMITTED: Final = 1

Outcome = Literal["aborted", "unknown", "committed"]


@dataclass
class Attempt:
    label: bytes
    outcome: Outcome = "aborted"
    """The expected outcome; unknown while a commit is not answered."""


@dataclass
class TransactionLedger:
    attempts: list[Attempt] = field(default_factory=list)
    is_closed: bool = False
    """A power cut has happened: nothing is guaranteed any more."""


async def transact(broker: RunningBroker, book: TransactionLedger, *, commit: bool) -> None:
    find = FindCoordinatorRequest(key=TRANSACTIONAL_ID, key_type=1)
    _check((await broker.call("find_coordinator", 3, find)).error_code)
    init = InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout=TRANSACTION_TIMEOUT)
    producer = await broker.call("init_producer_id", 4, init)
    _check(producer.error_code)
    attempt = Attempt(b"attempt %d" % len(book.attempts))
    book.attempts.append(attempt)
    await _produce(broker, producer, attempt.label)
    if commit:
        attempt.outcome = "unknown"
    end = EndTxnRequest(
        transactional_id=TRANSACTIONAL_ID,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=commit,
    )
    _check((await broker.call("end_txn", 5, end)).error_code)
    attempt.outcome = "committed" if commit else "aborted"


async def _produce(broker: RunningBroker, producer: Any, label: bytes) -> None:
    # Unique keys: compaction removes only aborted records.
    records = [Record(timestamp=TIMESTAMP_MS, key=b"%s.%d" % (label, n), value=bytes(30)) for n in range(RECORDS)]
    batch = build_batch(
        records,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        transactional=True,
    )
    data = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        transactional_id=TRANSACTIONAL_ID,
        acks=-1,
        timeout=TIMEOUT,
        topic_data=tuple(TopicProduceData(name=name, partition_data=(data,)) for name in TOPICS),
    )
    for topic in (await broker.call("produce", 12, request)).responses:
        for partition in topic.partition_responses:
            _check(partition.error_code)


async def find_broken_promise(broker: RunningBroker, book: TransactionLedger) -> str | None:
    """What is wrong with the readable transactions, if anything. Raises NotReady while one is still being completed."""
    if book.is_closed or not book.attempts:
        return None
    seen = [await _read_committed(broker, topic) for topic in TOPICS]
    for attempt in book.attempts:
        counts = [labels.count(attempt.label) for labels in seen]
        if counts not in ([0] * len(TOPICS), [RECORDS] * len(TOPICS)):
            if attempt.outcome == "unknown":
                raise NotReady(f"{attempt} is being committed: {counts} records are there")
            return f"{attempt}: {dict(zip(TOPICS, counts, strict=True))} records are there"
        is_there = counts[0] > 0
        if is_there and attempt.outcome == "aborted":
            return f"{attempt} can be read"
        if not is_there and attempt.outcome == "committed":
            raise NotReady(f"{attempt} cannot be read")
        if is_there:
            attempt.outcome = "committed"
    return None


async def _read_committed(broker: RunningBroker, topic: str) -> Sequence[bytes]:
    """The labels of committed records up to the last stable offset, filtered as by a client."""
    labels: list[bytes] = []
    offset = 0
    while True:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            isolation_level=READ_COMMITTED,
            min_bytes=0,
            max_bytes=1 << 20,
            topics=(FetchTopic(topic=topic, partitions=(partition,)),),
        )
        (answer,) = (await broker.call("fetch", 12, request)).responses
        data = answer.partitions[0]
        _check(data.error_code)
        aborted = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
        skipped: set[int] = set()
        before = offset
        for batch in split_batches(data.records or b""):
            header = batch.header
            while aborted and aborted[0][0] <= header.last_offset:
                skipped.add(aborted.pop(0)[1])
            if header.is_control:
                marker = read_marker(batch)
                if marker is not None and not marker.commit:
                    skipped.discard(header.producer_id)
            elif header.producer_id not in skipped:
                records = decode_records(batch, max_bytes=1 << 24)
                labels += [(each.key or b"").rpartition(b".")[0] for each in records if each.offset >= offset]
            offset = header.next_offset
        if offset >= data.last_stable_offset:
            return labels
        if offset == before:
            raise NotReady(f"{topic} gives nothing at offset {offset}, it is stable up to {data.last_stable_offset}")


def _check(code: ErrorCode) -> None:
    if code != ErrorCode.none:
        raise Refused(code.name)
