"""A transactional producer that speaks the protocol by itself, as clients do that know transaction.version 2 (KIP-890).

librdkafka tells the coordinator of each partition first and keeps its epoch. Here a partition becomes part of the
transaction with the first batch that is produced to it (Produce 12), and every transaction ends with a new epoch
(EndTxn 5). What was not answered is sent again as it was: the broker must recognise it, also after a restart.

It knows one broker, for runs against a broker of our own.
"""

import datetime
import time
from collections.abc import Callable
from typing import Any, Final

from barnabas.records.record import Record, build_batch
from barnabas.testing.checker.clients.session import Session, complain
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

ANSWER_SECONDS_MAX: Final = 15.0
INSIST_SECONDS_MAX: Final = 40.0
RETRY_SECONDS: Final = (0.01, 0.1)
_AGAIN: Final = frozenset(
    {
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
        ErrorCode.concurrent_transactions,
        ErrorCode.not_leader_or_follower,
        ErrorCode.not_enough_replicas,  # as old clients know it: the coordinator cannot be asked yet
        ErrorCode.request_timed_out,
        ErrorCode.unknown_topic_or_partition,
    }
)


class Refused(Exception):
    def __init__(self, what: str, code: ErrorCode) -> None:
        super().__init__(f"{what}: {code.name}")
        self.code = code

    @property
    def can_abort(self) -> bool:
        """Only this transaction is lost; the producer may abort it and go on."""
        return self.code == ErrorCode.transaction_abortable


class BareProducer:
    def __init__(self, session: Session, transactional_id: str, timeout_ms: int) -> None:
        self._session = session
        self._transactional_id = transactional_id
        self._timeout = datetime.timedelta(milliseconds=timeout_ms)
        host, _, port = session.spec.bootstrap.rpartition(":")
        self._address = (host, int(port))
        self._client: Client | None = None
        self._producer_id = -1
        self._epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    def start(self) -> None:
        request = InitProducerIdRequest(transactional_id=self._transactional_id, transaction_timeout=self._timeout)
        answer = self._insist("init_producer_id", 5, request, lambda answer: answer.error_code)
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    def produce(self, topic: str, index: int, values: list[str]) -> int:
        """The offset of the first. Raises Refused."""
        sequence = self._sequences.get((topic, index), 0)
        now_ms = time.time_ns() // 1_000_000
        batch = build_batch(
            [Record(timestamp=now_ms, value=value.encode()) for value in values],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=index, records=batch),))
        request = ProduceRequest(
            transactional_id=self._transactional_id,
            acks=-1,
            timeout=datetime.timedelta(seconds=ANSWER_SECONDS_MAX),
            topic_data=(data,),
        )
        answer = self._insist("produce", 12, request, lambda answer: _only_partition(answer).error_code)
        self._sequences[topic, index] = sequence + len(values)
        return int(_only_partition(answer).base_offset)

    def end(self, *, commit: bool) -> None:
        """Raises Refused."""
        request = EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=commit,
        )
        answer = self._insist("end_txn", 5, request, lambda answer: answer.error_code)
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    def _insist(self, api: str, version: int, request: object, code_of: Callable[[Any], ErrorCode]) -> Any:
        """The same request again and again, until it is answered with something that is not to be repeated."""
        deadline = time.monotonic() + INSIST_SECONDS_MAX
        code = ErrorCode.none
        while time.monotonic() < deadline:
            try:
                answer = self._connected().call(api, version, request)
            except OSError as error:  # also a connection that was closed, and one that gave no answer in time
                complain(f"{api}: {error!r}")
                self._client = None
            else:
                code = code_of(answer)
                if code == ErrorCode.none:
                    return answer
                if code not in _AGAIN:
                    raise Refused(api, code)
            time.sleep(self._session.rng.uniform(*RETRY_SECONDS))
        raise Refused(f"{api}, after {INSIST_SECONDS_MAX:.0f} s", code)

    def _connected(self) -> Client:
        if self._client is None:
            self._client = Client(*self._address, client_id=self._session.name, timeout_s=ANSWER_SECONDS_MAX)
            # Whoever is about to use a coordinator looks for it first; that also makes its topic.
            request = FindCoordinatorRequest(key=self._transactional_id, key_type=1)
            self._client.call("find_coordinator", 3, request)
        return self._client


def _only_partition(answer: Any) -> Any:
    (topic,) = answer.responses
    (partition,) = topic.partition_responses
    return partition
