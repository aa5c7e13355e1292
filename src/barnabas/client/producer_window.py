"""Produce requests in flight: several per broker, answered in order.

When a connection breaks, it is unknown which of its requests were served. `NodeLost` returns the batches of all of
them; they are sent again, and the broker recognises them by their sequences.
"""

import datetime
import uuid
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from barnabas.client.cluster import Cluster
from barnabas.client.connection import Connection
from barnabas.client.errors import CannotConnect, ConnectionClosed, RequestTimedOut
from barnabas.client.producer_queue import PartitionQueue, PendingBatch
from barnabas.client.producer_settings import ProducerSettings
from barnabas.wire.codec import encode_request_in_pieces
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

_TOPIC_IDS_SINCE: Final = 13
UNREACHABLE: Final = (CannotConnect, ConnectionClosed, RequestTimedOut)

SentBatches = list[tuple[PartitionQueue, PendingBatch]]
"""The batches of a request: at most one of each partition."""


class NodeLost(Exception):
    """A broker cannot be reached; `sent` are the batches without a response, oldest first."""

    def __init__(self, failure: Exception, sent: SentBatches) -> None:
        super().__init__(str(failure))
        self.sent = sent


class Answer(NamedTuple):
    code: ErrorCode
    base_offset: int
    message: str | None


@dataclass(eq=False)
class _Request:
    node: int
    sent: SentBatches
    names: dict[uuid.UUID, str]
    """Names by topic id, if the request had topic ids."""


class Window:
    def __init__(self, cluster: Cluster, settings: ProducerSettings, *, version_max: int | None) -> None:
        self._cluster = cluster
        self._settings = settings
        self._version_max = version_max
        self._requests: deque[_Request] = deque()
        self._counts: Counter[int] = Counter()
        self._connections: dict[int, Connection] = {}
        self._versions: dict[int, int] = {}

    def __len__(self) -> int:
        """Requests in flight."""
        return len(self._requests)

    def has_room(self, node: int) -> bool:
        return self._counts[node] < self._settings.in_flight_max

    def connect(self, node: int) -> None:
        """Connect to this broker, if that is not done yet; NodeLost if it fails."""
        if node in self._connections:
            return
        try:
            self._versions[node] = self._cluster.version("produce", node=node, newest=self._version_max)
            self._connections[node] = self._cluster.connection(node)
        except UNREACHABLE as failure:
            raise self._lost(node, failure) from failure

    def send(
        self, node: int, sent: SentBatches, *, transactional_id: str | None, topic_ids: dict[str, uuid.UUID]
    ) -> None:
        """To a connected broker; NodeLost returns these batches too."""
        version = self._versions[node]
        batches: dict[str, list[PartitionProduceData]] = {}
        for queue, pending in sent:
            data = PartitionProduceData(index=queue.partition, records=cast(bytes, pending.batch))  # a view is enough
            batches.setdefault(queue.topic, []).append(data)
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=self._settings.acks,
            timeout=datetime.timedelta(seconds=self._cluster.settings.request_timeout_s),
            topic_data=tuple(
                TopicProduceData(name=name, topic_id=topic_ids.get(name), partition_data=tuple(partitions))
                for name, partitions in batches.items()
            ),
        )
        body = encode_request_in_pieces("produce", version, request)
        names = {topic_ids[name]: name for name in batches} if version >= _TOPIC_IDS_SINCE else {}
        self._requests.append(_Request(node, sent, names))
        self._counts[node] += 1
        connection = self._connections[node]
        try:
            connection.send_encoded("produce", version, *body)
        except UNREACHABLE as failure:
            raise self._lost(node, failure) from failure
        if self._settings.acks == 0:  # there will be no response
            connection.forget()
            self._requests.pop()
            self._counts[node] -= 1

    def receive(self) -> tuple[SentBatches, dict[tuple[str, int], Answer]]:
        """Wait for the response to the oldest request: its batches, and the result of each partition."""
        request = self._requests[0]
        try:
            response = self._connections[request.node].receive()
        except UNREACHABLE as failure:
            raise self._lost(request.node, failure) from failure
        self._requests.popleft()
        self._counts[request.node] -= 1
        return request.sent, _by_partition(response, request.names)

    def close(self) -> None:
        for node in list(self._connections):
            self._disconnect(node)
        self._requests.clear()
        self._counts.clear()

    def _lost(self, node: int, failure: Exception) -> NodeLost:
        self._disconnect(node)
        sent = [one for request in self._requests if request.node == node for one in request.sent]
        self._requests = deque(request for request in self._requests if request.node != node)
        self._counts[node] = 0
        return NodeLost(failure, sent)

    def _disconnect(self, node: int) -> None:
        connection = self._connections.pop(node, None)
        if connection is not None:
            connection.close()
        self._cluster.drop_broken(node)


def _by_partition(response: Any, names: dict[uuid.UUID, str]) -> dict[tuple[str, int], Answer]:
    return {
        (names.get(topic.topic_id) or topic.name, one.index): Answer(one.error_code, one.base_offset, one.error_message)
        for topic in response.responses
        for one in topic.partition_responses
    }
