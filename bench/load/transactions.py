"""Transactions one after another: one record in each partition, and the commit.

`bare` speaks transaction.version 2 over a socket: a Produce with a batch for every partition, which adds them to the
transaction, then EndTxn, which returns the next epoch. `librdkafka` is confluent-kafka, which adds them first. Requests
are retried while the server is still completing the previous transaction.
"""

import socket
import struct
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from barnabas.records.record import Record, build_batch
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from bench.admin import connect_client
from bench.frames import PRODUCE_VERSION, framed, produce_error_position
from bench.load.round_trips import RoundTrips, summary
from bench.sockets import HOST, TIMEOUT_S, Refused, connect, round_trip

_END_VERSION: Final = 5
_INIT_VERSION: Final = 5
_TIMEOUT: Final = timedelta(seconds=60)
_POLL_S: Final = 0.05
_GIVE_UP_S: Final = 60.0
_CONCURRENT: Final = int(ErrorCode.concurrent_transactions)
# After size, correlation id, tags and throttle time: error code, producer id and epoch.
_ENDED: Final = struct.Struct(">hqh")
_ENDED_POSITION: Final = 4 + 4 + 1 + 4
# Index, error code, base offset, append time, log start offset, no record errors, no message, no tags.
_PARTITION_ANSWER_SIZE: Final = 4 + 2 + 8 + 8 + 8 + 1 + 1 + 1


class _Producer(NamedTuple):
    producer_id: int
    epoch: int


def bare(port: int, topic: str, partitions: int, value_size: int, seconds: float) -> RoundTrips:
    transactions = Transactions(f"{topic}-bare", topic, range(partitions), value_size)
    latencies: list[int] = []
    with connect(port) as connection:
        transactions.begin(connection)
        for _ in range(20):  # everything that is created on first use exists now
            _transact(connection, transactions)
        busy = time.process_time()
        started = now = time.perf_counter_ns()
        end = started + int(seconds * 1e9)
        while now < end:
            _transact(connection, transactions)
            finished = time.perf_counter_ns()
            latencies.append(finished - now)
            now = finished
    elapsed_s = (now - started) / 1e9
    return summary(latencies, elapsed_s, (time.process_time() - busy) / elapsed_s)


def _transact(connection: socket.socket, transactions: "Transactions") -> None:
    wanted = transactions.completed + 1
    while transactions.completed < wanted:
        transactions.answered(bytes(round_trip(connection, transactions.frame)))


class Transactions:
    """An `Exchange`: commit after commit. Frames are encoded once; ids, epochs and batches are replaced in place."""

    def __init__(self, transactional_id: str, topic: str, partitions: Sequence[int], value_size: int) -> None:
        self.completed = 0
        self._transactional_id = transactional_id
        self._producer = _Producer(0, 0)
        self._value = bytes((index * 31 + 7) % 251 for index in range(value_size))
        batch = self._batch()
        data = TopicProduceData(
            name=topic,
            partition_data=tuple(PartitionProduceData(index=index, records=batch) for index in partitions),
        )
        request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout=_TIMEOUT, topic_data=(data,))
        self._produce = bytearray(framed("produce", PRODUCE_VERSION, request))
        self._batch_places = []
        position = 0
        while (position := self._produce.find(batch, position)) >= 0:
            self._batch_places.append(slice(position, position + len(batch)))
            position += len(batch)
        first = produce_error_position(topic)
        self._error_places = [first + index * _PARTITION_ANSWER_SIZE for index in range(len(partitions))]
        self.frame: bytes | bytearray = self._produce

    def begin(self, connection: socket.socket) -> None:
        with connect_client(connection.getpeername()[1]) as client:
            self._producer = _Producer(*_initialised(client, self._transactional_id))
        self._fill_in_batches()

    def answered(self, answer: bytes) -> bytes | bytearray:
        if self.frame is self._produce:
            if self._is_written(answer):
                self.frame = self._commit()
        elif self._is_committed(answer):
            self.completed += 1
            self._fill_in_batches()
            self.frame = self._produce
        return self.frame

    def verify(self, answer: bytes) -> None:
        """Every answer has been checked already."""

    def _fill_in_batches(self) -> None:
        batch = self._batch()
        for place in self._batch_places:
            self._produce[place] = batch

    def _batch(self) -> bytes:
        record = Record(timestamp=time.time_ns() // 1_000_000, value=self._value)
        return build_batch(
            [record],
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.epoch,
            base_sequence=0,
            transactional=True,
        )

    def _commit(self) -> bytes:
        request = EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.epoch,
            committed=True,
        )
        return framed("end_txn", _END_VERSION, request)

    def _is_committed(self, answer: bytes) -> bool:
        code, producer_id, epoch = _ENDED.unpack_from(answer, _ENDED_POSITION)
        if code == 0:
            self._producer = _Producer(producer_id, epoch)
        elif code != _CONCURRENT:
            raise Refused(f"a commit was answered with error code {code}")
        return bool(code == 0)

    def _is_written(self, answer: bytes) -> bool:
        """False: the previous transaction is still being completed."""
        codes = {struct.unpack_from(">h", answer, place)[0] for place in self._error_places}
        if codes == {0}:
            return True
        if codes <= {0, _CONCURRENT}:
            return False
        raise Refused(f"a transactional produce was answered with error codes {codes}")


def _initialised(client: Client, transactional_id: str) -> tuple[int, int]:
    """The producer's id and epoch; retries until there is a coordinator."""
    deadline = time.monotonic() + _GIVE_UP_S
    looked_for = FindCoordinatorRequest(key=transactional_id, key_type=1)
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout=_TIMEOUT)
    while True:
        found = client.call("find_coordinator", 3, looked_for)
        if found.error_code == ErrorCode.none:
            answer = client.call("init_producer_id", _INIT_VERSION, request)
            if answer.error_code == ErrorCode.none:
                return answer.producer_id, answer.producer_epoch
        if time.monotonic() > deadline:
            raise TimeoutError(f"no coordinator for {transactional_id} after {_GIVE_UP_S:.0f} s")
        time.sleep(_POLL_S)


def librdkafka(port: int, topic: str, partitions: int, value_size: int, seconds: float) -> float:
    """How many transactions a second."""
    from confluent_kafka import Producer

    producer: Any = Producer(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "transactional.id": f"{topic}-librdkafka",
            "linger.ms": 0,
            "log_level": 2,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    value = b"v" * value_size

    def transact() -> None:
        producer.begin_transaction()
        for index in range(partitions):
            producer.produce(topic, value, partition=index)
        producer.commit_transaction(TIMEOUT_S)

    for _ in range(20):
        transact()
    count = 0
    started = now = time.perf_counter()
    while now - started < seconds:
        transact()
        count += 1
        now = time.perf_counter()
    return count / (now - started)
