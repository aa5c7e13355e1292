"""Idempotence: what each producer wrote last to a partition, so that retries are recognised and gaps refused.

Rules, as Kafka has them since 2.5:
- a producer id that is not known here (new, expired, or its records gone) may start with any sequence;
- a batch with an older epoch than the last seen is fenced; a newer epoch starts at sequence 0;
- within an epoch sequences follow one another, wrapping from 2^31-1 to 0;
- a batch with exactly the sequences of one of the last five is a retry, answered with the offsets of the original.

Batches are checked before they are written (`find_duplicate`, `check`) and remembered after (`remember`). Batches
from a leader or from our own log are remembered unchecked: somebody accepted them.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.records.batch import BatchHeader
from barnabas.wire.errors import InvalidProducerEpoch, OutOfOrderSequenceNumber

BATCHES_KEPT: Final = 5
"""As many as a client may have in flight."""

SEQUENCE_MASK: Final = 0x7FFFFFFF


class BatchMetadata(NamedTuple):
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MASK

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "txn_first_offset")

    def __init__(
        self,
        epoch: int,
        batches: list[BatchMetadata],
        last_timestamp: int = -1,
        coordinator_epoch: int = -1,
        txn_first_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.batches = batches
        """Oldest first, at most BATCHES_KEPT, all of `epoch`."""
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.txn_first_offset = txn_first_offset
        """Where its open transaction began; -1: none is open."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class ProducerState:
    __slots__ = ("_seen", "end_offset", "producers")

    def __init__(self, end_offset: int = 0, producers: dict[int, ProducerEntry] | None = None) -> None:
        self.producers = producers if producers is not None else {}
        self.end_offset = end_offset
        """The state covers every batch below."""
        self._seen: dict[int, int] = {}
        """Producers of old records at the last look, and the last offset of each."""

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        entry = self.producers.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        for batch in entry.batches:
            if batch.last_sequence == header.last_sequence and batch.first_sequence == header.base_sequence:
                return batch
        return None

    def check(self, headers: Iterable[BatchHeader]) -> None:
        """Raise if batches that a client wants to append, in this order, are fenced or out of sequence."""
        ahead: dict[int, tuple[int, int]] = {}
        for header in headers:
            producer_id = header.producer_id
            if producer_id < 0:
                continue
            if producer_id in ahead:
                epoch, last_sequence = ahead[producer_id]
            else:
                entry = self.producers.get(producer_id)
                epoch, last_sequence = (entry.epoch, entry.last_sequence) if entry is not None else (-1, -1)
            if epoch >= 0:
                _check_one(header, epoch, last_sequence)
            ahead[producer_id] = (header.producer_epoch, header.last_sequence)

    def remember(self, header: BatchHeader, base_offset: int) -> None:
        """Account for a batch with a producer id that is now in the log at `base_offset`."""
        entry = self.producers.get(header.producer_id)
        if entry is None:
            entry = self.producers[header.producer_id] = ProducerEntry(header.producer_epoch, [])
        elif entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches.clear()
        entry.last_timestamp = header.max_timestamp
        if header.is_control:
            entry.txn_first_offset = -1
            return
        last_offset = base_offset + header.last_offset_delta
        entry.batches.append(
            BatchMetadata(header.last_sequence, last_offset, header.last_offset_delta, header.max_timestamp)
        )
        if len(entry.batches) > BATCHES_KEPT:
            del entry.batches[0]
        if header.is_transactional and entry.txn_first_offset < 0:
            entry.txn_first_offset = base_offset

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that wrote nothing for so long, unless a transaction of theirs is open.

        The time is that of their records, and a producer that is busy now may write records of last year. So only one
        that has also written nothing since the last look is forgotten.
        """
        seen, self._seen = self._seen, {}
        for producer_id, entry in list(self.producers.items()):
            if entry.txn_first_offset >= 0 or now_ms - entry.last_timestamp < expiration_ms:
                continue
            last_offset = entry.batches[-1].last_offset if entry.batches else -1
            if seen.get(producer_id) == last_offset:
                del self.producers[producer_id]
            else:
                self._seen[producer_id] = last_offset


def _check_one(header: BatchHeader, epoch: int, last_sequence: int) -> None:
    who = f"producer {header.producer_id}"
    if header.producer_epoch < epoch:
        raise InvalidProducerEpoch(f"{who} has epoch {header.producer_epoch}, epoch {epoch} was seen already")
    if header.producer_epoch > epoch:
        if header.base_sequence != 0:
            raise OutOfOrderSequenceNumber(
                f"{who} starts epoch {header.producer_epoch} with sequence {header.base_sequence} instead of 0"
            )
    elif header.base_sequence != (last_sequence + 1) & SEQUENCE_MASK:
        raise OutOfOrderSequenceNumber(
            f"{who} sent sequence {header.base_sequence}, {(last_sequence + 1) & SEQUENCE_MASK} comes next"
        )
