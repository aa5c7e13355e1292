"""Stores decisions in a compacted topic, which all queries share, with a pointer to the last one of each query.

With the pointer (a group offset, committed in the decision's own transaction), the last decision is found in one
request. Group offsets expire if a query is idle for long; then the topic is read from its start. It is read
uncommitted, because open transactions of other queries must not hide ours; the markers tell which records are
committed. So a reader must have taken over the driver's id first: then all our transactions have ended.
"""

import time
from collections.abc import Iterator
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.group_offsets import fetch_offsets
from barnabas.client.topic_creation import create_compacted_topic
from barnabas.client.transaction import GroupPosition
from barnabas.client.transaction_log import OffsetsGone, log_bounds, read_log
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.records.batch import Batch
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.spark.sink.exactly_once.decisions import (
    Part,
    decode_done,
    decode_part,
    decode_pointer,
    encode_decision,
    encode_done,
    encode_pointer,
    tombstones,
    whole_decision,
)
from barnabas.spark.sink.exactly_once.entries import Decision, LastDecision
from barnabas.spark.sink.exactly_once.errors import DecisionLost
from barnabas.spark.sink.exactly_once.names import DECISIONS_PARTITION, DECISIONS_TOPIC, Names

_PLACE: Final = (DECISIONS_TOPIC, DECISIONS_PARTITION)
_BATCH_BYTES_MAX: Final = 64 * 1024 * 1024


class DecisionLog:
    def __init__(self, cluster: Cluster, names: Names) -> None:
        self._cluster = cluster
        self._names = names

    def peek(self) -> LastDecision | None:
        """The last decision according to the pointer, which may be outdated: does not wait for a pending one."""
        return self._pointer(require_stable=False)

    def last(self) -> LastDecision | None:
        """The last decision. Only for the owner of the driver's id: then no other can be made meanwhile."""
        return self._pointer(require_stable=True) or self._scan()

    def read(self, last: LastDecision) -> Decision:
        """The decision itself; DecisionLost if it is missing."""
        parts: Iterator[Part | None] = iter(())
        if self._exists():
            parts = (
                decode_part(self._names.base, record.key, record.value)
                for batch in read_log(self._cluster, *_PLACE, start=last.offset)
                if not batch.header.is_control
                for record in _records(batch)
            )
        try:
            decision = whole_decision(part for part in parts if part is not None)
        except OffsetsGone:
            decision = None
        if decision is None or decision.batch_id != last.batch_id:
            raise DecisionLost(
                f"Batch {last.batch_id} of {self._names.base} is decided, but its decision is not at offset "
                f"{last.offset} of {DECISIONS_TOPIC}.",
                "was the topic deleted or its cleanup.policy changed? the batch may be partly visible: "
                "compare the output with its source, then start the query with a new checkpoint",
            )
        return decision

    def write(self, writer: TransactionWriter, decision: Decision) -> LastDecision:
        """The records of a decision, in the writer's transaction; `point` to it before that is committed."""
        create_compacted_topic(self._cluster, DECISIONS_TOPIC)
        offset = -1
        for key, value in encode_decision(self._names.base, decision):
            written = writer.append(*_PLACE, _batch(key, value))
            offset = written if offset < 0 else offset
        return LastDecision(decision.batch_id, offset, is_done=False)

    def point(self, writer: TransactionWriter, last: LastDecision) -> None:
        note = encode_pointer(last.batch_id, is_done=last.is_done)
        writer.commit_position(GroupPosition(self._names.group, *_PLACE, last.offset, note))

    def write_done(self, writer: TransactionWriter, last: LastDecision) -> None:
        """In the transaction that has the copies."""
        create_compacted_topic(self._cluster, DECISIONS_TOPIC)
        writer.append(*_PLACE, _batch(*encode_done(self._names.base, last.batch_id)))
        self.point(writer, last._replace(is_done=True))

    def forget(self, writer: TransactionWriter, decision: Decision) -> None:
        """After a batch write: its decision is no longer needed."""
        for key, value in tombstones(self._names.base, len(encode_decision(self._names.base, decision))):
            writer.append(*_PLACE, _batch(key, value))
        writer.commit()

    def _pointer(self, *, require_stable: bool) -> LastDecision | None:
        committed = fetch_offsets(self._cluster, self._names.group, [_PLACE], require_stable=require_stable)
        found = committed.get(_PLACE)
        return None if found is None else decode_pointer(found.offset, found.metadata)

    def _scan(self) -> LastDecision | None:
        if not self._exists():
            return None
        start, end = log_bounds(self._cluster, *_PLACE)
        return last_in(self._names.base, read_log(self._cluster, *_PLACE, start=start, end=end))

    def _exists(self) -> bool:
        return DECISIONS_TOPIC in self._cluster.topics([DECISIONS_TOPIC])


def last_in(base: str, batches: Iterator[Batch]) -> LastDecision | None:
    """The last decision among them that was committed. Pure."""
    last, done = None, -1
    open_decisions: dict[int, LastDecision] = {}
    open_done: dict[int, int] = {}
    for batch in batches:
        producer = batch.header.producer_id
        if batch.header.is_control:
            marker = read_marker(batch)
            decided, was_done = open_decisions.pop(producer, None), open_done.pop(producer, None)
            if marker is not None and marker.commit:
                last = last if decided is None else decided
                done = done if was_done is None else was_done
            continue
        for record in _records(batch):
            part = decode_part(base, record.key, record.value)
            if part is not None and part.part == 0:
                open_decisions[producer] = LastDecision(part.batch_id, record.offset, is_done=False)
            done_batch = decode_done(base, record.key, record.value)
            if done_batch is not None:
                open_done[producer] = done_batch
    return None if last is None else last._replace(is_done=done == last.batch_id)


def _records(batch: Batch) -> list[Record]:
    return decode_records(batch, max_bytes=_BATCH_BYTES_MAX)


def _batch(key: bytes, value: bytes | None) -> bytes:
    return build_batch([Record(0, int(time.time() * 1000), key, value)])
