"""A blocking, idempotent producer of whole batches: nothing is lost and nothing is written twice.

A batch that is not acknowledged is sent again with the same sequence, after retriable errors, broken connections and
restarts of brokers, until `delivery.timeout.ms` is over; brokers recognise retries. There are no threads: up to five
requests per broker are in flight, and responses are read when there is no room for more, so that brokers work while
the caller encodes the next batches. `send` blocks while more than one request's worth of batches waits, which bounds
the memory.

With an `identity` (`ProducerIdentity`) the batches belong to a transaction that the caller begins and ends. After an
error a producer cannot be used any more: make a new one.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, NoReturn, Self

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.producer_answers import Outcome, fatal_error, outcome_of
from barnabas.client.producer_batch import sign, split
from barnabas.client.producer_errors import DeliveryTimedOut
from barnabas.client.producer_identity import ProducerIdentity, idempotent_identity
from barnabas.client.producer_queue import PartitionQueue, PendingBatch
from barnabas.client.producer_settings import ProducerSettings
from barnabas.client.producer_topics import Topics
from barnabas.client.producer_window import UNREACHABLE, Answer, NodeLost, SentBatches, Window
from barnabas.records.batch import read_header
from barnabas.wire.errors import ErrorCode

# From this version of Produce on, the broker adds the partition of a batch to its transaction (KIP-890).
_TRANSACTION_V2_SINCE: Final = 12

Partition = tuple[str, int]
Offsets = tuple[int, int]
"""Of the first and the last record that went to a partition."""


class Written(NamedTuple):
    """Per partition. Records of other producers may lie between the first and the last."""

    first_offset: int
    last_offset: int
    record_count: int


class Producer:
    def __init__(
        self,
        cluster: Cluster,
        *,
        settings: ProducerSettings | None = None,
        identity: ProducerIdentity | None = None,
        before_first_batch: Callable[[Sequence[Partition]], None] | None = None,
    ) -> None:
        """`before_first_batch` is called with partitions before their first batches are sent.

        Transactions before Kafka 4 (transaction.version < 2) need it, to add the partitions to the transaction; with
        it, requests have versions of that time.
        """
        self._cluster = cluster
        self.settings = settings or ProducerSettings()
        self._given = identity
        self._identity = identity
        self._before_first_batch = before_first_batch
        self._topics = Topics(cluster, max_block_s=self.settings.max_block_s)
        version_max = None if before_first_batch is None else _TRANSACTION_V2_SINCE - 1
        self._window = Window(cluster, self.settings, version_max=version_max)
        self._queues: dict[Partition, PartitionQueue] = {}
        self._unsent_bytes = 0
        self._held_bytes = 0
        self._renewing = False
        self._turn = 0
        self._failure: ClientError | None = None
        self.batch_bytes_max: dict[str, int] = {}
        """For topics that have refused a batch as too large: the size to use from now on."""

    @property
    def identity(self) -> ProducerIdentity | None:
        return self._identity

    @property
    def offsets(self) -> dict[Partition, Offsets]:
        """Of the acknowledged records."""
        return {
            place: (queue.first_offset, queue.last_offset)
            for place, queue in self._queues.items()
            if queue.first_offset is not None and queue.last_offset is not None
        }

    @property
    def written(self) -> dict[Partition, Written]:
        """Where the acknowledged records are; ClientError if a broker did not report an offset.

        It reports that of a retry too, unless five other batches came after the first attempt.
        """
        unknown = [place for place, queue in self._queues.items() if not queue.offsets_known]
        if unknown:
            raise ClientError(
                f"the offsets of some records in {unknown[0][0]}-{unknown[0][1]} are unknown", "write them again"
            )
        return {place: Written(*offsets, self._queues[place].record_count) for place, offsets in self.offsets.items()}

    def partition_count(self, topic: str, *, refresh: bool = False) -> int:
        """Of a topic that exists, or that the broker creates now; Refused if it does not."""
        return self._topics.partition_count(topic, refresh=refresh)

    def send(self, topic: str, partition: int, batch: bytearray | memoryview) -> None:
        """Queue one whole record batch. It is changed in place, and must be left alone until `flush`.

        Returns when there is room for more; an error is raised by a later `send` or by `flush`.
        """
        self._check_usable()
        view = memoryview(batch)
        queue = self._queue(topic, partition)
        count = read_header(view).last_offset_delta + 1
        pending = PendingBatch(view, count, time.monotonic() + self.settings.delivery_timeout_s)
        queue.add(pending, numbered=self._numbers)
        self._sign(pending)
        self._unsent_bytes += pending.size
        self._held_bytes += pending.size
        while not self._has_room():
            if not self._dispatch():
                self._wait()

    def flush(self) -> dict[Partition, Offsets]:
        """Wait until everything is acknowledged; returns the offsets of all that this producer wrote, by partition."""
        self._check_usable()
        while any(queue.batches for queue in self._queues.values()):
            if not self._dispatch():
                self._wait()
        return self.offsets

    def close(self) -> None:
        """Drop what is not acknowledged: call `flush` first. The cluster stays open."""
        self._window.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.flush()
        finally:
            self.close()

    def _check_usable(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail(self, failure: ClientError) -> NoReturn:
        """Batches were dropped, so later ones must not be sent."""
        self._failure = failure
        raise failure

    @property
    def _numbers(self) -> bool:
        return self._given is not None or self.settings.idempotent

    def _has_room(self) -> bool:
        settings = self.settings
        return self._unsent_bytes < settings.request_bytes_max and self._held_bytes <= settings.buffer_bytes_max

    def _queue(self, topic: str, partition: int) -> PartitionQueue:
        queue = self._queues.get((topic, partition))
        if queue is None:
            count = self.partition_count(topic)
            if partition >= count:
                count = self.partition_count(topic, refresh=True)
            if not 0 <= partition < count:
                raise ClientError(
                    f"there is no partition {partition} in topic {topic}, which has {count}",
                    f"choose one from 0 to {count - 1}, or add partitions to the topic",
                )
            queue = self._queues[topic, partition] = PartitionQueue(topic, partition)
        return queue

    def _sign(self, pending: PendingBatch) -> None:
        if not self._numbers:
            sign(pending.batch)
            return
        if self._identity is None:
            self._identity = idempotent_identity(self._cluster)
        sign(
            pending.batch,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            base_sequence=pending.base_sequence,
            transactional=self._identity.transactional_id is not None,
        )

    # --- sending ---

    def _dispatch(self) -> bool:
        """Send what may be sent; returns whether anything was."""
        if self._renewing and not self._renew():
            return False
        now = time.monotonic()
        queues = [queue for queue in self._queues.values() if queue.is_ready(now)]
        if not queues:
            return False
        try:
            self._topics.refresh()
        except UNREACHABLE as failure:
            self._postpone(queues, str(failure))
            return False
        self._announce(queues)
        self._turn = (self._turn + 1) % len(queues)  # so that no partition is always last
        by_node: dict[int, list[PartitionQueue]] = {}
        for queue in queues[self._turn :] + queues[: self._turn]:
            by_node.setdefault(self._topics.leader(queue.topic, queue.partition), []).append(queue)
        self._postpone(by_node.pop(-1, ()), "the partition has no leader")
        sent = False
        for node, ready in by_node.items():
            try:
                while ready and self._window.has_room(node):
                    self._window.connect(node)
                    self._send_some(node, ready)
                    sent = True
                    ready = [queue for queue in ready if queue.is_ready(now)]
            except NodeLost as lost:
                self._retry_all(lost)
                self._postpone(ready, str(lost))
        return sent

    def _send_some(self, node: int, ready: Iterable[PartitionQueue]) -> None:
        """One request, with one batch of each partition as far as they fit."""
        sent: SentBatches = []
        size = 0
        for queue in ready:
            if size and size + queue.next_size > self.settings.request_bytes_max:
                continue
            pending = queue.next()
            size += pending.size
            sent.append((queue, pending))
        self._unsent_bytes -= size
        transactional_id = None if self._identity is None else self._identity.transactional_id
        topic_ids = self._topics.ids({queue.topic for queue, _ in sent})
        self._window.send(node, sent, transactional_id=transactional_id, topic_ids=topic_ids)
        if self.settings.acks == 0:
            for queue, pending in sent:
                self._acknowledge(queue, pending, -1)

    def _announce(self, queues: Sequence[PartitionQueue]) -> None:
        new = [queue for queue in queues if not queue.announced]
        if new and self._before_first_batch is not None:
            self._before_first_batch([(queue.topic, queue.partition) for queue in new])
        for queue in new:
            queue.announced = True

    # --- responses ---

    def _wait(self) -> None:
        """For the oldest response; or, if none is due, until a batch may be sent again."""
        now = time.monotonic()
        waiting = [queue for queue in self._queues.values() if queue.batches]
        for queue in waiting:
            if now > queue.batches[0].deadline:
                timeout_s = self.settings.delivery_timeout_s
                self._fail(DeliveryTimedOut(queue.topic, queue.partition, timeout_s, queue.failure))
        if not len(self._window):
            time.sleep(max(0.0, min((queue.not_before for queue in waiting), default=now) - now))
            return
        try:
            sent, answers = self._window.receive()
        except NodeLost as lost:
            self._retry_all(lost)
            return
        for queue, pending in sent:
            answer = answers.get((queue.topic, queue.partition))
            if answer is None:
                missing = f"the broker's response lacks {queue.topic}-{queue.partition}"
                self._fail(ClientError(missing, "look at the broker's log"))
            self._settle(queue, pending, answer)
            if queue.lost_its_place:
                if self._given is not None:
                    code = ErrorCode.out_of_order_sequence_number
                    self._fail(fatal_error(code, queue.failure, queue, pending.size, self._identity))
                self._renewing = True

    def _settle(self, queue: PartitionQueue, pending: PendingBatch, answer: Answer) -> None:
        reason = answer.message or answer.code.name
        match outcome_of(answer.code):
            case Outcome.WRITTEN:
                self._acknowledge(queue, pending, answer.base_offset if answer.code == ErrorCode.none else -1)
            case Outcome.RETRY:
                self._retry(queue, pending, reason)
            case Outcome.RETRY_AT_NEW_LEADER:
                self._topics.stale = True
                self._retry(queue, pending, reason)
            case Outcome.SPLIT if pending.record_count > 1:
                self._split(queue, pending, reason)
            case Outcome.OUT_OF_ORDER if queue.has_passed(pending):
                self._acknowledge(queue, pending, -1)
            case Outcome.OUT_OF_ORDER if self._numbers:
                self._retry(queue, pending, queue.failure if queue.draining else reason, doubted=True)
            case Outcome.PRODUCER_LOST if self._given is None and self._numbers:
                self._renewing = True
                self._retry(queue, pending, reason)
            case _:
                self._fail(fatal_error(answer.code, answer.message, queue, pending.size, self._identity))

    def _acknowledge(self, queue: PartitionQueue, pending: PendingBatch, base_offset: int) -> None:
        self._held_bytes -= pending.size
        for proven in queue.acknowledge(pending, base_offset):
            self._held_bytes -= proven.size
            self._unsent_bytes -= proven.size

    def _split(self, queue: PartitionQueue, pending: PendingBatch, reason: str) -> None:
        parts = [PendingBatch(half, read_header(half).record_count, pending.deadline) for half in split(pending.batch)]
        known = self.batch_bytes_max.get(queue.topic, self.settings.batch_bytes_max)
        self.batch_bytes_max[queue.topic] = min(known, max(pending.size // 2, 1))
        queue.replace(pending, parts)
        queue.fail(reason, 0.0)
        self._held_bytes -= pending.size
        for part in parts:
            self._sign(part)
            self._unsent_bytes += part.size
            self._held_bytes += part.size

    def _retry(self, queue: PartitionQueue, pending: PendingBatch, failure: str, *, doubted: bool = False) -> None:
        self._unsent_bytes += pending.size
        queue.fail(failure, self._cluster.settings.retry_pause_s, doubted=pending if doubted else None)

    def _retry_all(self, lost: NodeLost) -> None:
        self._topics.stale = True
        for queue, pending in lost.sent:
            self._retry(queue, pending, str(lost))

    def _postpone(self, queues: Iterable[PartitionQueue], failure: str) -> None:
        for queue in queues:
            self._topics.stale = True
            queue.failure = failure
            queue.not_before = time.monotonic() + self._cluster.settings.retry_pause_s

    def _renew(self) -> bool:
        """Get a new producer id, once all responses are in: the broker has lost its state of the old one.

        Batches that were written and not acknowledged may then be written twice, as with every client.
        """
        if len(self._window):
            return False
        self._identity = idempotent_identity(self._cluster)
        for queue in self._queues.values():
            queue.renumber()
            for pending in queue.batches:
                self._sign(pending)
        self._renewing = False
        return True
