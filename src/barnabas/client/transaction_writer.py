"""Writes batches in transactions of one id, one request at a time: for callers that prefer certainty over speed.

Each batch is acknowledged by all replicas before the next is sent. A request without a response is sent again with the
same sequences, so the broker writes it once. After another producer has taken the id over, every call raises `Refused`.
"""

import datetime
from typing import Any, Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import CannotConnect, ConnectionClosed, Refused, RequestTimedOut
from barnabas.client.producer_batch import sign
from barnabas.client.producer_identity import ProducerIdentity
from barnabas.client.retrying import LEADER_MOVING
from barnabas.client.transaction import GroupPosition, Transactions
from barnabas.records.batch import Buffer
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

_ACKS_ALL: Final = -1
# From the next version on topics have ids instead of names.
_PRODUCE_NEWEST: Final = 12
_SEQUENCE_MASK: Final = 0x7FFFFFFF
_UNREACHABLE: Final = (CannotConnect, ConnectionClosed, RequestTimedOut)
_RETRIABLE: Final = LEADER_MOVING | {
    ErrorCode.concurrent_transactions,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.network_exception,
    ErrorCode.not_coordinator,
    ErrorCode.not_enough_replicas,
    ErrorCode.not_enough_replicas_after_append,
    ErrorCode.request_timed_out,
    ErrorCode.unknown_topic_or_partition,  # a new topic, or a leader that is starting
}


class TransactionWriter:
    def __init__(self, cluster: Cluster, transactions: Transactions, producer: ProducerIdentity) -> None:
        """`producer`: the result of `take_over`; nothing was written yet."""
        self._cluster = cluster
        self._transactions = transactions
        self._next_sequences: dict[tuple[str, int], int] = {}
        self._added: set[tuple[str, int]] = set()
        self.producer = producer

    def append(self, topic: str, partition: int, batch: Buffer) -> int:
        """Returns the offset of its first record. The batch keeps its records, timestamps and codec."""
        place = topic, partition
        if place not in self._added:
            self._transactions.add_partitions(self.producer, [place])
            self._added.add(place)
        sequence = self._next_sequences.get(place, 0)
        signed = bytearray(batch)
        header = sign(
            memoryview(signed),
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        base_offset = self._produce(topic, partition, bytes(signed))
        self._next_sequences[place] = (sequence + header.last_offset_delta + 1) & _SEQUENCE_MASK
        return base_offset

    def commit_position(self, position: GroupPosition) -> None:
        self._transactions.commit_position(self.producer, position)

    def commit(self) -> None:
        """Durable when this returns, and visible soon after. The next `append` begins the next transaction."""
        producer = self._transactions.end(self.producer, commit=True)
        self._added.clear()
        if producer != self.producer:
            self._next_sequences.clear()
        self.producer = producer

    def _produce(self, topic: str, partition: int, records: bytes) -> int:
        request = ProduceRequest(
            transactional_id=self.producer.transactional_id,
            acks=_ACKS_ALL,
            timeout=datetime.timedelta(seconds=self._cluster.settings.request_timeout_s),
            topic_data=(
                TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=partition, records=records),)),
            ),
        )
        newest = self._transactions.newest("produce") or _PRODUCE_NEWEST
        retry = self._cluster.retry_policy()
        while True:
            node = self._cluster.leader(topic, partition)
            try:
                version = self._cluster.version("produce", node=node, newest=newest)
                answer: Any = self._cluster.connection(node).call("produce", version, request)
            except _UNREACHABLE:
                self._cluster.drop_broken(node)
                if not retry.wait():
                    raise
                self._cluster.leader(topic, partition, refresh=True)
                continue
            result = answer.responses[0].partition_responses[0]
            code = result.error_code
            if code == ErrorCode.none:  # also for a retry: brokers remember the offsets of the last batches
                return int(result.base_offset)
            if code not in _RETRIABLE or not retry.wait():
                why = result.error_message or code.name.upper()
                raise Refused(code, f"{self.producer.transactional_id} cannot write to {topic}-{partition}: {why}")
            if code in LEADER_MOVING:
                self._cluster.leader(topic, partition, refresh=True)
