"""A transactional producer of our own that uses transaction.version 2 (KIP-890), which librdkafka does not.

librdkafka adds each partition to the transaction first, and keeps its epoch. With version 2 the first batch adds its
partition (Produce 12), and every transaction ends with a new epoch (EndTxn 5). Unanswered requests are sent again
unchanged: the broker must recognise them, even after a restart.

It works with a single broker, for runs against our own.
"""

import datetime
import time
from collections.abc import Callable
from typing import Any, Final

from barnabas.records.record import Record, build_batch
from barnabas.testing.checker.clients.session import Session, report
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
        ErrorCode.not_enough_replicas,  # the name in older clients: the coordinator is not ready
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
        """Only this transaction fails; the producer may abort it and continue."""
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
        answer = self._with_retries("init_producer_id", 5, request, lambda answer: answer.error_code)
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
        answer = self._with_retries("produce", 12, request, lambda answer: _only_partition(answer).error_code)
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
        answer = self._with_retries("end_txn", 5, request, lambda answer: answer.error_code)
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    def _with_retries(self, api: str, version: int, request: object, code_of: Callable[[Any], ErrorCode]) -> Any:
        """Repeat the request until the answer is not a retriable error."""
        deadline = time.monotonic() + INSIST_SECONDS_MAX
        code = ErrorCode.none
        while time.monotonic() < deadline:
            try:
                answer = self._connected().call(api, version, request)
            except OSError as error:  # includes closed connections and timeouts
                report(f"{api}: {error!r}")
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
            # Finding the coordinator also creates its topic.
            request = FindCoordinatorRequest(key=self._transactional_id, key_type=1)
            self._client.call("find_coordinator", 3, request)
        return self._client


def _only_partition(answer: Any) -> Any:
    (topic,) = answer.responses
    (partition,) = topic.partition_responses
    return partition
