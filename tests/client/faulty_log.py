"""A cluster of two brokers with one topic, which stores batches like Kafka and fails as scripted.

It simulates what matters to a producer: leaders, sequences (five batches are remembered per producer and partition),
and lost answers. Each produced batch gets the next fault of `faults`:

    None                    it is appended
    an error code           it is refused
    Appended(code)          it is appended, and yet answered with this error
    Dropped(appended=...)   the connection ends, before or after the append
    Forgot()                it is appended, and the broker starts again: it remembers no batch but the last
    Moved()                 the partition's leader is the other broker from now on; refused
"""

import threading
import uuid
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self

from fake_kafka import FakeKafka, Peer, Request

from barnabas.records.batch import BatchHeader, crc_is_valid, read_batch
from barnabas.records.record import Record, decode_records
from barnabas.wire.api_table import APIS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.messages.init_producer_id import InitProducerIdResponse
from barnabas.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

TOPIC = "t"
_SERVED = ("api_versions", "metadata", "init_producer_id", "produce")
_REMEMBERED = 5


class Appended(NamedTuple):
    code: ErrorCode


class Dropped(NamedTuple):
    appended: bool


class Moved(NamedTuple):
    pass


class Forgot(NamedTuple):
    pass


Fault = ErrorCode | Appended | Dropped | Forgot | Moved | None


@dataclass
class _Partition:
    leader: int = 1
    records: list[Record] = field(default_factory=list)
    headers: list[BatchHeader] = field(default_factory=list)
    """Of all batches, with the offsets that they were given."""
    forgotten: int = 0
    """So many of them are not remembered any more."""

    def append(self, data: bytes, bytes_max: int) -> tuple[ErrorCode, int]:
        batch = read_batch(data)
        header = batch.header
        assert crc_is_valid(batch)
        assert header.base_offset == 0
        if len(data) > bytes_max:
            return ErrorCode.message_too_large, -1
        if header.producer_id >= 0:
            ours = [one for one in self.headers[self.forgotten :] if one.producer_id == header.producer_id]
            ours = ours[-_REMEMBERED:]
            for one in ours:
                if (one.base_sequence, one.record_count) == (header.base_sequence, header.record_count):
                    return ErrorCode.none, one.base_offset
            # An unknown producer may start with any sequence: its records may have been deleted.
            if ours and header.base_sequence != ours[-1].last_sequence + 1:
                return ErrorCode.out_of_order_sequence_number, -1
        offset = len(self.records)
        self.headers.append(header._replace(base_offset=offset))
        self.records += decode_records(batch, max_bytes=1 << 30)
        return ErrorCode.none, offset


class FaultyLog:
    def __init__(
        self, *, partitions: int = 1, produce_version: int = 13, bytes_max: int = 1 << 20, together: int = 1
    ) -> None:
        """`together`: after the first, answers are held back until so many produce requests have come, each time."""
        self.partitions = [_Partition() for _ in range(partitions)]
        self.faults: deque[Fault] = deque()
        self.topic_id = uuid.uuid4()
        self.bytes_max = bytes_max
        self.requests: list[tuple[int, Any]] = []
        """Produce requests, with their versions."""
        self.producer_ids = 0
        self._together = together
        self._produce_version = produce_version
        self._lock = threading.Condition()
        self._stack = ExitStack()
        self._listeners: list[FakeKafka] = []

    @property
    def bootstrap_servers(self) -> str:
        return self._listeners[0].bootstrap_servers

    def fail(self, *faults: Fault) -> None:
        self.faults.extend(faults)

    def values(self, partition: int = 0) -> list[bytes | None]:
        return [record.value for record in self.partitions[partition].records]

    def wait_for(self, records: int, partition: int = 0) -> None:
        """For records with acks=0."""
        with self._lock:
            assert self._lock.wait_for(lambda: len(self.partitions[partition].records) >= records, timeout=30)

    def __enter__(self) -> Self:
        self._listeners = [self._stack.enter_context(FakeKafka(self._serve)) for _ in range(2)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def _serve(self, peer: Peer) -> None:
        waiting: list[tuple[Request, object]] = []
        while True:
            request = peer.request()
            with self._lock:
                response = self._answer(request, peer)
                self._lock.notify_all()
            if response is None:
                return
            if request.api_name != "produce":
                peer.answer(request, response)
            elif request.body.acks != 0:
                waiting.append((request, response))
            if len(waiting) == self._together or len(self.requests) == 1:
                for answered in waiting:
                    peer.answer(*answered)
                waiting = []

    def _answer(self, request: Request, peer: Peer) -> object | None:
        match request.api_name:
            case "api_versions":
                return self._versions()
            case "metadata":
                return self._metadata(request.body)
            case "init_producer_id":
                self.producer_ids += 1
                return InitProducerIdResponse(producer_id=self.producer_ids, producer_epoch=0)
            case "produce":
                self.requests.append((request.version, request.body))
                return self._produce(request.body, peer)
        raise AssertionError(f"nobody asked for {request.api_name}")

    def _versions(self) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            api_keys=tuple(
                ApiVersion(
                    api_key=api.key,
                    min_version=api.version_min,
                    max_version=self._produce_version if api.name == "produce" else api.version_max,
                )
                for api in APIS
                if api.name in _SERVED
            )
        )

    def _metadata(self, asked: Any) -> MetadataResponse:
        brokers = tuple(
            MetadataResponseBroker(node_id=node, host="127.0.0.1", port=listener.port)
            for node, listener in enumerate(self._listeners, 1)
        )
        names = [topic.name for topic in asked.topics or ()]
        topics = tuple(self._described(name) for name in names)
        return MetadataResponse(brokers=brokers, cluster_id="fake", topics=topics)

    def _described(self, name: str) -> MetadataResponseTopic:
        if name != TOPIC:
            return MetadataResponseTopic(name=name, error_code=ErrorCode.invalid_topic_exception)
        partitions = tuple(
            MetadataResponsePartition(partition_index=index, leader_id=one.leader, replica_nodes=(1, 2))
            for index, one in enumerate(self.partitions)
        )
        return MetadataResponseTopic(name=TOPIC, topic_id=self.topic_id, partitions=partitions)

    def _produce(self, body: Any, peer: Peer) -> ProduceResponse | None:
        (topic,) = body.topic_data
        answers: list[PartitionProduceResponse] = []
        for one in topic.partition_data:
            answer = self._one(one.index, bytes(one.records), peer)
            if answer is None:
                return None
            answers.append(PartitionProduceResponse(index=one.index, error_code=answer[0], base_offset=answer[1]))
        topic_response = TopicProduceResponse(name=TOPIC, topic_id=self.topic_id, partition_responses=tuple(answers))
        return ProduceResponse(responses=(topic_response,))

    def _one(self, index: int, data: bytes, peer: Peer) -> tuple[ErrorCode, int] | None:
        partition = self.partitions[index]
        if self._listeners[partition.leader - 1].port != peer.port:
            return ErrorCode.not_leader_or_follower, -1
        match self.faults.popleft() if self.faults else None:
            case None:
                return partition.append(data, self.bytes_max)
            case Appended(code):
                partition.append(data, self.bytes_max)
                return code, -1
            case Dropped(appended):
                if appended:
                    partition.append(data, self.bytes_max)
                return None
            case Forgot():
                partition.append(data, self.bytes_max)
                partition.forgotten = max(len(partition.headers) - 1, 0)
                return None
            case Moved():
                partition.leader = 3 - partition.leader
                return ErrorCode.not_leader_or_follower, -1
            case code:
                return code, -1


def numbered(numbers: Iterable[int]) -> list[bytes]:
    return [b"%d" % number for number in numbers]
