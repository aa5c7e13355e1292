"""The fast lane: produces of one ordinary batch, answered without any object being made of request and answer.

A producer sends the same request again and again; only its records differ. What stands before them is known by its
bytes (`wire/produce_preamble.py`), so that client, topic and partition are found by one look into a table. The batch is
checked and appended where it lies in the connection's buffer, by the same functions as on the general way, and the
answer is a few numbers in a prepared frame.

The lane takes only what it can finish at once. Everything else goes the general way (`handlers/produce.py`), as if the
lane had never looked: transactions, compression, acks=0, several partitions, old versions, topics that want to look at
records or rewrite them, a sync before the acknowledgement, and whatever is wrong with a request, so that errors are
told in one place. A test sends the same requests both ways and compares answers and logs.

What is known of a preamble is true for one image of the cluster: leaders, topics and their settings change with the
image, and then everything is learned anew. Whatever else may keep a request from its partition must close the lane in
`_partition_of`, or be looked at in `answer`.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.handlers.context import Broker
from barnabas.model import INTERNAL_TOPICS
from barnabas.records.admission import plain_header
from barnabas.replication.partition import Partition
from barnabas.wire.errors import InvalidRecord, KafkaError
from barnabas.wire.produce_preamble import PREAMBLE_BYTES_MAX, Preamble, find_preamble, read_preamble
from barnabas.wire.produce_response import PlainAnswer

if TYPE_CHECKING:
    from barnabas.log.partition_log import PartitionLog
    from barnabas.metadata.image import ClusterImage

# More partitions than anybody writes to at a time. At PREAMBLE_BYTES_MAX each, 10 MB.
KNOWN_MAX: Final = 16_384


class Known(NamedTuple):
    """What a preamble means."""

    partition: Partition
    log: "PartitionLog"
    answer: PlainAnswer


class ProduceLane:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._image: ClusterImage | None = None
        self._known: dict[tuple[int, bytes], Known | None] = {}
        """By version and preamble. None: it means something else, for the general way."""

    def answer(self, buffer: bytearray, window: memoryview, start: int, end: int) -> bytes | None:
        """The answer to the request that lies in `buffer` from `start` to `end`, as a whole frame.

        `window` is a view of the whole buffer. None: it must go the general way; nothing has happened yet.
        """
        found = find_preamble(buffer, start, end)
        if found is None:
            return None
        version, correlation_id, preamble, records_start, records_end = found
        if self._image is not self._broker.image:
            self._image = self._broker.image
            self._known.clear()
        try:
            known = self._known[version, preamble]
        except KeyError:
            known = self._learn(version, preamble)
        if known is None:
            return None
        partition, log, answer = known
        now_ms = self._broker.clock.now_ms()
        batch = window[records_start:records_end]
        try:
            header = plain_header(buffer, records_start, batch, partition.admission_rules, now_ms)
        except InvalidRecord:
            return None
        if header is None:
            return None
        base_offset = partition.append_in_place(header, batch, now_ms=now_ms)
        if base_offset < 0:
            return None
        return answer.frame(correlation_id, base_offset, log.log_start_offset)

    def _learn(self, version: int, preamble: bytes) -> Known | None:
        if len(preamble) > PREAMBLE_BYTES_MAX:
            return None
        request = read_preamble(version, preamble)
        partition = self._partition_of(request) if request is not None else None
        known = None
        if request is not None and partition is not None:
            log = partition.opened_log
            if log is None:
                return None  # the general way opens it, and then this is asked again
            known = Known(partition, log, PlainAnswer(request.topic, request.partition))
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[version, preamble] = known
        return known

    def _partition_of(self, request: Preamble) -> Partition | None:
        """None: nothing that the lane may touch, as long as the image is the same."""
        if self._broker.quotas is not None:
            return None  # who sends how much must be counted; with a quota that comes or goes the image is another
        if request.acks not in (-1, 1):
            return None
        name = request.name
        if request.topic_id is not None:
            topic = self._broker.image.topics.by_id.get(request.topic_id)
            name = topic.name if topic is not None else None
        if name is None or name in INTERNAL_TOPICS:
            return None
        try:
            partition = self._broker.replicas.get(name, request.partition)
        except KafkaError:
            return None
        return partition if partition.admission_rules.takes_batches_as_they_are else None
