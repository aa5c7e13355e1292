"""Transactions in the workload: each writes to two topics, is committed or aborted, and is all there or not at all.

Whoever lost its broker in the middle begins anew, under the same transactional id: that ends what was left open. An
attempt whose end was asked for and not answered may have been committed or not, but in both topics alike.

After a power cut, what nobody synced of records, markers and decisions may be lost, each for itself. A replica set of
one promises nothing of transactions then, here as with Apache Kafka; so nothing of them is verified any more but that
the broker serves on.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from barnabas.records.batch import split_batches
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing.crash.life import Life, NotYet, Refused
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
"""Of each attempt, in each topic."""

READ_COMMITTED: Final = 1

Outcome = Literal["aborted", "unknown", "committed"]


@dataclass
class Attempt:
    label: bytes
    outcome: Outcome = "aborted"
    """What it is if nothing else happens; unknown as long as a commit was asked for and not answered."""


@dataclass
class Book:
    attempts: list[Attempt] = field(default_factory=list)
    is_closed: bool = False
    """A power cut came: nothing is promised any more."""


async def transact(life: Life, book: Book, *, commit: bool) -> None:
    find = FindCoordinatorRequest(key=TRANSACTIONAL_ID, key_type=1)
    _check((await life.call("find_coordinator", 3, find)).error_code)
    init = InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout=TRANSACTION_TIMEOUT)
    producer = await life.call("init_producer_id", 4, init)
    _check(producer.error_code)
    attempt = Attempt(b"attempt %d" % len(book.attempts))
    book.attempts.append(attempt)
    await _produce(life, producer, attempt.label)
    if commit:
        attempt.outcome = "unknown"
    end = EndTxnRequest(
        transactional_id=TRANSACTIONAL_ID,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=commit,
    )
    _check((await life.call("end_txn", 5, end)).error_code)
    attempt.outcome = "committed" if commit else "aborted"


async def _produce(life: Life, producer: Any, label: bytes) -> None:
    # Each key is unique: compaction takes away what was aborted, and nothing else.
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
    for topic in (await life.call("produce", 12, request)).responses:
        for partition in topic.partition_responses:
            _check(partition.error_code)


async def find_broken_promise(life: Life, book: Book) -> str | None:
    """What is wrong with the transactions that can be read; NotYet: something is about to be."""
    if book.is_closed or not book.attempts:
        return None
    seen = [await _read_committed(life, topic) for topic in TOPICS]
    for attempt in book.attempts:
        counts = [labels.count(attempt.label) for labels in seen]
        if counts not in ([0] * len(TOPICS), [RECORDS] * len(TOPICS)):
            if attempt.outcome == "unknown":
                raise NotYet(f"{attempt} is being committed: {counts} records are there")
            return f"{attempt}: {dict(zip(TOPICS, counts, strict=True))} records are there"
        is_there = counts[0] > 0
        if is_there and attempt.outcome == "aborted":
            return f"{attempt} can be read"
        if not is_there and attempt.outcome == "committed":
            raise NotYet(f"{attempt} cannot be read")
        if is_there:
            attempt.outcome = "committed"
    return None


async def _read_committed(life: Life, topic: str) -> Sequence[bytes]:
    """The labels of the records up to the last stable offset, as a client sorts them out."""
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
        (answer,) = (await life.call("fetch", 12, request)).responses
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
            raise NotYet(f"{topic} gives nothing at offset {offset}, it is stable up to {data.last_stable_offset}")


def _check(code: ErrorCode) -> None:
    if code != ErrorCode.none:
        raise Refused(code.name)
