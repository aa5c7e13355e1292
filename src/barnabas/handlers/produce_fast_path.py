"""The fast path for produce requests with one ordinary batch: no objects are built for the request or the response.

A producer sends the same request again and again; only the records differ. The bytes before the records, the preamble
(`wire/produce_preamble.py`), are the key of a table that holds the partition. The batch is checked and appended where
it lies in the connection's buffer, by the same functions as on the general path, and the answer is a prepared frame
with a few numbers filled in.

The fast path takes only requests that it can finish at once. All others take the general path (`handlers/produce.py`):
transactions, acks=0, several partitions, topics whose settings need the records inspected or rewritten, a sync before
the acknowledgement, and invalid requests, so that errors are made in one place. A test sends the same requests both
ways and compares answers and logs. Quotas are charged here too, as `server/throttling.py` charges them for all other
requests.

The table is valid for one image of the cluster: leaders, topics and their settings change only with the image, and
then the table is cleared. Any other reason to refuse a request must be checked in `_partition_of` or in `answer`.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.env import Clock
from barnabas.handlers.produce import ZSTD_SINCE
from barnabas.handlers.services import Cluster, Quotas
from barnabas.model import INTERNAL_TOPICS
from barnabas.quotas.limits import ANONYMOUS
from barnabas.records.admission import unchanged_header
from barnabas.replication.partition import Partition
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import KafkaError
from barnabas.wire.produce_preamble import PREAMBLE_BYTES_MAX, Preamble, find_preamble, read_preamble
from barnabas.wire.produce_response import PlainAnswer

if TYPE_CHECKING:
    from barnabas.log.partition_log import PartitionLog
    from barnabas.metadata.image import ClusterImage

# More partitions than clients write to at a time. At PREAMBLE_BYTES_MAX each, 10 MB.
TARGETS_MAX: Final = 16_384


class ProduceTarget(NamedTuple):
    """The partition that a preamble names, and its prepared answer."""

    partition: Partition
    log: "PartitionLog"
    answer: PlainAnswer
    client_id: str
    """Who is charged if quotas are set."""


class ThrottledAnswer(NamedTuple):
    """An answer after which the client is throttled."""

    frame: bytes
    throttle_ms: int


class ProduceFastPath:
    def __init__(self, cluster: Cluster, clock: Clock, quotas: Quotas, replicas: Replicas) -> None:
        self._cluster = cluster
        self._clock = clock
        self._quotas = quotas
        self._replicas = replicas
        self._image: ClusterImage | None = None
        self._targets: dict[tuple[int, bytes], ProduceTarget | None] = {}
        """By version and preamble. None: such requests take the general path."""

    def answer(self, buffer: bytearray, window: memoryview, start: int, end: int) -> bytes | ThrottledAnswer | None:
        """The response frame for the request in `buffer[start:end]`.

        `window` is a view of the whole buffer. None: the request must take the general path; nothing was appended.
        """
        quotas = self._quotas.clients
        started_s = 0.0 if quotas is None else self._clock.work_s()
        found = find_preamble(buffer, start, end)
        if found is None:
            return None
        version, correlation_id, preamble, records_start, records_end = found
        if self._image is not self._cluster.image:
            self._image = self._cluster.image
            self._targets.clear()
        try:
            target = self._targets[version, preamble]
        except KeyError:
            target = self._resolve(version, preamble)
        if target is None:
            return None
        partition, log, answer, client_id = target
        now_ms = self._clock.now_ms()
        batch = window[records_start:records_end]
        try:
            header = unchanged_header(
                buffer, records_start, batch, partition.admission_rules, now_ms, version >= ZSTD_SINCE
            )
        except KafkaError:
            return None
        if header is None:
            return None
        base_offset = partition.append_in_place(header, batch, now_ms)
        if base_offset < 0:
            return None
        if quotas is not None:
            throttle_ms = max(
                quotas.produced(ANONYMOUS, client_id, end - start),
                quotas.worked(ANONYMOUS, client_id, self._clock.work_s() - started_s),
            )
            if throttle_ms:
                frame = answer.throttled(correlation_id, base_offset, log.log_start_offset, throttle_ms)
                return ThrottledAnswer(frame, throttle_ms)
        return answer.frame(correlation_id, base_offset, log.log_start_offset)

    def _resolve(self, version: int, preamble: bytes) -> ProduceTarget | None:
        if len(preamble) > PREAMBLE_BYTES_MAX:
            return None
        request = read_preamble(version, preamble)
        partition = self._partition_of(request) if request is not None else None
        target = None
        if request is not None and partition is not None:
            log = partition.opened_log
            if log is None:
                return None  # the general path opens it; the next request is resolved again
            answer = PlainAnswer(version, request.topic, request.partition)
            target = ProduceTarget(partition, log, answer, request.client_id)
        if len(self._targets) >= TARGETS_MAX:
            self._targets.clear()
        self._targets[version, preamble] = target
        return target

    def _partition_of(self, request: Preamble) -> Partition | None:
        """None: the fast path may not append to it while the image is the same."""
        if request.acks not in (-1, 1):
            return None
        name = request.name
        if request.topic_id is not None:
            topic = self._cluster.image.topics.by_id.get(request.topic_id)
            name = topic.name if topic is not None else None
        if name is None or name in INTERNAL_TOPICS:
            return None
        try:
            partition = self._replicas.get(name, request.partition)
        except KafkaError:
            return None
        return partition if partition.appends_batches_unchanged else None
