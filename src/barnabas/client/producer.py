"""A blocking producer: whole batches in, acknowledgements and offsets out, nothing lost and nothing doubled.

It is idempotent (a producer id, and a sequence per partition), so whatever is not acknowledged is sent again with the
sequence it had, after errors that pass, broken connections and restarts of brokers, until `delivery.timeout.ms` is
over; a broker that has it already says so. There are no threads: requests are sent while there is room in the window
of five per broker, and answers are read when there is none, so brokers work while the caller encodes what comes next.
Memory is bounded by the same: `send` blocks while more than a request's worth of batches cannot go out.

With an `identity` from outside (`ProducerIdentity`) batches are those of a transaction that somebody else began and
will end. A producer that has raised is of no more use: make a new one.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import NamedTuple, NoReturn, Self

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.producer_answers import Fate, fatal_error, fate_of
from barnabas.client.producer_batch import sign, split
from barnabas.client.producer_errors import DeliveryTimedOut
from barnabas.client.producer_identity import ProducerIdentity, idempotent_identity
from barnabas.client.producer_lane import Lane, Pending
from barnabas.client.producer_request import TRANSACTION_V2_SINCE
from barnabas.client.producer_settings import ProducerSettings
from barnabas.client.producer_topics import Topics
from barnabas.client.producer_window import UNREACHABLE, Answer, Cargo, NodeLost, Window
from barnabas.records.batch import read_header
from barnabas.wire.errors import ErrorCode

Partition = tuple[str, int]
Offsets = tuple[int, int]
"""Of the first and the last record that went to a partition."""


class Written(NamedTuple):
    """In a partition. Records of others may lie between the first and the last."""

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
        """`before_first_batch` is told of partitions before the first batches go there.

        A transaction of before Kafka 4 (transaction.version < 2) needs it, to add them to itself; with it, requests
        are sent in versions of that time.
        """
        self._cluster = cluster
        self.settings = settings or ProducerSettings()
        self._given = identity
        self._identity = identity
        self._before_first_batch = before_first_batch
        self._topics = Topics(cluster, max_block_s=self.settings.max_block_s)
        version_max = None if before_first_batch is None else TRANSACTION_V2_SINCE - 1
        self._window = Window(cluster, self.settings, version_max=version_max)
        self._lanes: dict[Partition, Lane] = {}
        self._unsent_bytes = 0
        self._held_bytes = 0
        self._renewing = False
        self._turn = 0
        self._failure: ClientError | None = None
        self.batch_bytes_max: dict[str, int] = {}
        """For topics that have refused a batch as too large: what to try from now on."""

    @property
    def identity(self) -> ProducerIdentity | None:
        return self._identity

    @property
    def offsets(self) -> dict[Partition, Offsets]:
        """What is acknowledged so far."""
        return {
            place: (lane.first_offset, lane.last_offset)
            for place, lane in self._lanes.items()
            if lane.first_offset is not None and lane.last_offset is not None
        }

    @property
    def written(self) -> dict[Partition, Written]:
        """What is acknowledged so far, for who must find it again; ClientError where a broker did not tell the offset.

        A broker tells it even of a batch that comes again, unless five others have followed it.
        """
        unknown = [place for place, lane in self._lanes.items() if not lane.offsets_known]
        if unknown:
            raise ClientError(
                f"it is not known where all records in {unknown[0][0]}-{unknown[0][1]} are", "write them again"
            )
        return {place: Written(*offsets, self._lanes[place].record_count) for place, offsets in self.offsets.items()}

    def partition_count(self, topic: str, *, refresh: bool = False) -> int:
        """Of a topic that is there, or is made by the broker now; Refused if there is none."""
        return self._topics.partition_count(topic, refresh=refresh)

    def send(self, topic: str, partition: int, batch: bytearray | memoryview) -> None:
        """Hand over one whole record batch. Its memory is the producer's until `flush`: it is signed where it lies.

        Returns when there is room for more; a refusal is raised by a later `send` or by `flush`.
        """
        self._check_usable()
        view = memoryview(batch)
        lane = self._lane(topic, partition)
        count = read_header(view).last_offset_delta + 1
        pending = Pending(view, count, time.monotonic() + self.settings.delivery_timeout_s)
        lane.add(pending, numbered=self._numbers)
        self._sign(pending)
        self._unsent_bytes += pending.size
        self._held_bytes += pending.size
        while not self._has_room():
            if not self._dispatch():
                self._wait()

    def flush(self) -> dict[Partition, Offsets]:
        """Wait until everything is acknowledged. The offsets of all that this producer wrote, by partition."""
        self._check_usable()
        while any(lane.queue for lane in self._lanes.values()):
            if not self._dispatch():
                self._wait()
        return self.offsets

    def close(self) -> None:
        """Give up what is not acknowledged: `flush` first. The cluster stays open."""
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
        """Batches have been given up, so what follows them must not be sent."""
        self._failure = failure
        raise failure

    @property
    def _numbers(self) -> bool:
        return self._given is not None or self.settings.idempotent

    def _has_room(self) -> bool:
        settings = self.settings
        return self._unsent_bytes < settings.request_bytes_max and self._held_bytes <= settings.buffer_bytes_max

    def _lane(self, topic: str, partition: int) -> Lane:
        lane = self._lanes.get((topic, partition))
        if lane is None:
            count = self.partition_count(topic)
            if partition >= count:
                count = self.partition_count(topic, refresh=True)
            if not 0 <= partition < count:
                raise ClientError(
                    f"there is no partition {partition} in topic {topic}, which has {count}",
                    f"choose one from 0 to {count - 1}, or add partitions to the topic",
                )
            lane = self._lanes[topic, partition] = Lane(topic, partition)
        return lane

    def _sign(self, pending: Pending) -> None:
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
        """Send what may be sent; whether that was anything."""
        if self._renewing and not self._renew():
            return False
        now = time.monotonic()
        lanes = [lane for lane in self._lanes.values() if lane.is_ready(now)]
        if not lanes:
            return False
        try:
            self._topics.refresh()
        except UNREACHABLE as failure:
            self._postpone(lanes, str(failure))
            return False
        self._announce(lanes)
        self._turn = (self._turn + 1) % len(lanes)  # so that none is always last
        by_node: dict[int, list[Lane]] = {}
        for lane in lanes[self._turn :] + lanes[: self._turn]:
            by_node.setdefault(self._topics.leader(lane.topic, lane.partition), []).append(lane)
        self._postpone(by_node.pop(-1, ()), "the partition has no leader")
        sent = False
        for node, ready in by_node.items():
            try:
                while ready and self._window.has_room(node):
                    self._window.connect(node)
                    self._send_some(node, ready)
                    sent = True
                    ready = [lane for lane in ready if lane.is_ready(now)]
            except NodeLost as lost:
                self._take_back(lost)
                self._postpone(ready, str(lost))
        return sent

    def _send_some(self, node: int, ready: Iterable[Lane]) -> None:
        """One request, with one batch of each lane as far as they fit."""
        cargo: Cargo = []
        size = 0
        for lane in ready:
            if size and size + lane.next_size > self.settings.request_bytes_max:
                continue
            pending = lane.next()
            size += pending.size
            cargo.append((lane, pending))
        self._unsent_bytes -= size
        transactional_id = None if self._identity is None else self._identity.transactional_id
        topic_ids = self._topics.ids({lane.topic for lane, _ in cargo})
        self._window.send(node, cargo, transactional_id=transactional_id, topic_ids=topic_ids)
        if self.settings.acks == 0:
            for lane, pending in cargo:
                self._acknowledge(lane, pending, -1)

    def _announce(self, lanes: Sequence[Lane]) -> None:
        new = [lane for lane in lanes if not lane.announced]
        if new and self._before_first_batch is not None:
            self._before_first_batch([(lane.topic, lane.partition) for lane in new])
        for lane in new:
            lane.announced = True

    # --- answers ---

    def _wait(self) -> None:
        """For the oldest answer; or, if none is due, until something may be sent again."""
        now = time.monotonic()
        waiting = [lane for lane in self._lanes.values() if lane.queue]
        for lane in waiting:
            if now > lane.queue[0].deadline:
                timeout_s = self.settings.delivery_timeout_s
                self._fail(DeliveryTimedOut(lane.topic, lane.partition, timeout_s, lane.failure))
        if not len(self._window):
            time.sleep(max(0.0, min((lane.not_before for lane in waiting), default=now) - now))
            return
        try:
            cargo, answers = self._window.receive()
        except NodeLost as lost:
            self._take_back(lost)
            return
        for lane, pending in cargo:
            answer = answers.get((lane.topic, lane.partition))
            if answer is None:
                missing = f"the broker's answer says nothing of {lane.topic}-{lane.partition}"
                self._fail(ClientError(missing, "look at the broker's log"))
            self._settle(lane, pending, answer)
            if lane.lost_its_place:
                if self._given is not None:
                    code = ErrorCode.out_of_order_sequence_number
                    self._fail(fatal_error(code, lane.failure, lane, pending.size, self._identity))
                self._renewing = True

    def _settle(self, lane: Lane, pending: Pending, answer: Answer) -> None:
        reason = answer.message or answer.code.name
        match fate_of(answer.code):
            case Fate.WRITTEN:
                self._acknowledge(lane, pending, answer.base_offset if answer.code == ErrorCode.none else -1)
            case Fate.RETRY:
                self._again(lane, pending, reason)
            case Fate.RETRY_ELSEWHERE:
                self._topics.stale = True
                self._again(lane, pending, reason)
            case Fate.SPLIT if pending.record_count > 1:
                self._split(lane, pending, reason)
            case Fate.OUT_OF_ORDER if lane.has_passed(pending):
                self._acknowledge(lane, pending, -1)
            case Fate.OUT_OF_ORDER if self._numbers:
                self._again(lane, pending, lane.failure if lane.draining else reason, doubted=True)
            case Fate.PRODUCER_LOST if self._given is None and self._numbers:
                self._renewing = True
                self._again(lane, pending, reason)
            case _:
                self._fail(fatal_error(answer.code, answer.message, lane, pending.size, self._identity))

    def _acknowledge(self, lane: Lane, pending: Pending, base_offset: int) -> None:
        self._held_bytes -= pending.size
        for proven in lane.acknowledge(pending, base_offset):
            self._held_bytes -= proven.size
            self._unsent_bytes -= proven.size

    def _split(self, lane: Lane, pending: Pending, reason: str) -> None:
        parts = [Pending(half, read_header(half).record_count, pending.deadline) for half in split(pending.batch)]
        known = self.batch_bytes_max.get(lane.topic, self.settings.batch_bytes_max)
        self.batch_bytes_max[lane.topic] = min(known, max(pending.size // 2, 1))
        lane.replace(pending, parts)
        lane.fail(reason, 0.0)
        self._held_bytes -= pending.size
        for part in parts:
            self._sign(part)
            self._unsent_bytes += part.size
            self._held_bytes += part.size

    def _again(self, lane: Lane, pending: Pending, failure: str, *, doubted: bool = False) -> None:
        self._unsent_bytes += pending.size
        lane.fail(failure, self._cluster.settings.retry_pause_s, doubted=pending if doubted else None)

    def _take_back(self, lost: NodeLost) -> None:
        self._topics.stale = True
        for lane, pending in lost.cargo:
            self._again(lane, pending, str(lost))

    def _postpone(self, lanes: Iterable[Lane], failure: str) -> None:
        for lane in lanes:
            self._topics.stale = True
            lane.failure = failure
            lane.not_before = time.monotonic() + self._cluster.settings.retry_pause_s

    def _renew(self) -> bool:
        """A new producer id, once all answers have come: the broker has lost track of the old one's sequences.

        What was written and not acknowledged may be written twice then, as with every client.
        """
        if len(self._window):
            return False
        self._identity = idempotent_identity(self._cluster)
        for lane in self._lanes.values():
            lane.renumber()
            for pending in lane.queue:
                self._sign(pending)
        self._renewing = False
        return True
