"""A transaction across servers: started with one, continued and ended with the next, with hand-made requests.

Old clients add partitions to their transaction and keep their epoch; clients with transaction.version 2 let the broker
add them and get a new epoch for each transaction. Both kinds are tested, alternating.
"""

import datetime
import time
from collections.abc import Callable
from typing import Any, Final

from barnabas.records.record import Record, build_batch
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TRANSACTIONAL_ID: Final = "long"
TIMEOUT: Final = datetime.timedelta(minutes=15)
"""The longest that brokers allow by default."""

PATIENCE_SECONDS: Final = 30.0
TRY_AGAIN: Final = (
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
    ErrorCode.concurrent_transactions,
    ErrorCode.not_enough_replicas,
)


class LongTransaction:
    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._producer_id = -1
        self._epoch = 0
        self._sequence = 0
        self._turn = 0
        self.pending: list[bytes] = []
        """Values of the transaction that is open."""

    def begin(self, servers: str) -> None:
        with _connect(servers) as client:
            if self._producer_id < 0:
                self._init(client)
            if not self._knows_version_2:
                self._add(client)
            self._produce(client, b"long %d begins" % self._turn)

    def end(self, servers: str, *, committed: bool) -> list[bytes]:
        """Write once more, then end it. Returns what `read_committed` consumers see of it."""
        with _connect(servers) as client:
            self._produce(client, b"long %d goes on" % self._turn)
            request = EndTxnRequest(
                transactional_id=TRANSACTIONAL_ID,
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                committed=committed,
            )
            answer = _call(lambda: client.call("end_txn", 5 if self._knows_version_2 else 4, request))
            if self._knows_version_2:
                self._producer_id, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0
        self._turn += 1
        written, self.pending = self.pending, []
        return written if committed else []

    @property
    def _knows_version_2(self) -> bool:
        return self._turn % 2 == 0

    def _init(self, client: Client) -> None:
        find = FindCoordinatorRequest(key=TRANSACTIONAL_ID, key_type=1)
        _call(lambda: client.call("find_coordinator", 3, find))
        request = InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout=TIMEOUT)
        answer = _call(lambda: client.call("init_producer_id", 4, request))
        self._producer_id, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0

    def _add(self, client: Client) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TRANSACTIONAL_ID,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=(AddPartitionsToTxnTopic(name=self._topic, partitions=(0,)),),
        )

        def ask() -> Any:
            answer = client.call("add_partitions_to_txn", 3, request)
            return answer.results_by_topic_v3_and_below[0].results_by_partition[0]

        _call(ask, "partition_error_code")

    def _produce(self, client: Client, value: bytes) -> None:
        batch = build_batch(
            [Record(timestamp=int(time.time() * 1000), value=value)],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=self._sequence,
            transactional=True,
        )
        data = TopicProduceData(name=self._topic, partition_data=(PartitionProduceData(index=0, records=batch),))
        request = ProduceRequest(
            transactional_id=TRANSACTIONAL_ID, acks=-1, timeout=datetime.timedelta(seconds=20), topic_data=(data,)
        )
        version = 12 if self._knows_version_2 else 9
        _call(lambda: client.call("produce", version, request).responses[0].partition_responses[0])
        self._sequence += 1
        self.pending.append(value)


def _connect(servers: str) -> Client:
    host, _, port = servers.partition(":")
    return Client(host, int(port), timeout_s=PATIENCE_SECONDS)


def _call(ask: Callable[[], Any], field: str = "error_code") -> Any:
    """Retry: a server that has just started may still be loading."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (code := getattr(answer := ask(), field)) in TRY_AGAIN and time.monotonic() < deadline:
        time.sleep(0.05)
    assert code == ErrorCode.none, code.name
    return answer
