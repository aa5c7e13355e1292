"""The producer state of a partition: the last batches of each producer, to detect retries, refuse gaps and zombies, and
track open transactions.

Rules, as in Kafka 4.3:
- an unknown producer id (new, expired, or without remaining records) may start with any sequence;
- a batch with an older producer epoch is fenced; a newer epoch starts at sequence 0;
- within an epoch sequences are consecutive, wrapping from 2^31-1 to 0;
- a batch with exactly the sequences of one of the last five is a retry, answered with the offsets of the original;
- a producer's first transactional batch opens a transaction and needs a verification guard (`transactions.py`); until a
  marker ends it, all batches of the producer must be transactional. With transaction.version 2 that first batch must
  have sequence 0 if the epoch is new here;
- a marker with an older coordinator epoch or an older producer epoch is fenced. With transaction.version 2 every
  transaction ends with a bumped epoch, so a marker with the producer's current epoch is from an earlier transaction: it
  is refused while a transaction is open, and accepted as a repetition if none is. The marker's epoch becomes the
  producer's.

Batches are checked before they are written (`find_duplicate`, `check`, `check_marker`) and remembered after
(`remember`, `remember_marker`). Batches from a leader or from our own log are remembered without checks: they were
accepted before. Batches without a sequence are written by a coordinator, which never retries them.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.log.transaction_index import AbortedTransaction
from barnabas.log.transactions import OpenTransactions, VerificationGuard
from barnabas.records.batch import TRANSACTIONAL_FLAG, BatchHeader
from barnabas.records.control import EndTransactionMarker
from barnabas.wire.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)

BATCHES_KEPT: Final = 5
"""The number that a client may have in flight."""

SEQUENCE_MASK: Final = 0x7FFFFFFF
EPOCH_MAX: Final = 2**15 - 1
TRANSACTION_VERSION_2: Final = 2

GUARDS_MAX: Final = 10_000
"""A limit, as clients can invent producer ids. A producer whose guard was dropped gets an error, and starts again."""


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
        """Of the coordinator that ended its last transaction here; -1: there was none."""
        self.txn_first_offset = txn_first_offset
        """Where its open transaction began; -1: none is open."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


UNKNOWN: Final = ProducerEntry(-1, [])


class ProducerState:
    __slots__ = ("_seen", "end_offset", "guards", "producers", "transactions")

    def __init__(self, end_offset: int = 0, producers: dict[int, ProducerEntry] | None = None) -> None:
        self.producers = producers if producers is not None else {}
        self.end_offset = end_offset
        """The state includes every batch below."""
        self.transactions = OpenTransactions()
        self.guards: dict[int, VerificationGuard] = {}
        """By producer id, from the start of the verification until the first batch is appended."""
        self._seen: dict[int, int] = {}
        """The last offset of each producer that `expire` found old the last time."""
        began = sorted((entry.txn_first_offset, producer_id) for producer_id, entry in self.producers.items())
        for first_offset, producer_id in began:
            if first_offset >= 0:
                self.transactions.begin(producer_id, first_offset)

    # Data batches

    def expects(self, header: BatchHeader) -> bool:
        """A fast check for the usual case: the next batch of its producer, in the open transaction or in none.

        True: it is not a retry, and `check` would accept it.
        """
        entry = self.producers.get(header.producer_id)
        return (
            entry is not None
            and entry.epoch == header.producer_epoch
            and len(entry.batches) > 0
            and header.base_sequence == (entry.batches[-1].last_sequence + 1) & SEQUENCE_MASK
            and (entry.txn_first_offset >= 0) is (header.attributes & TRANSACTIONAL_FLAG != 0)
            and header.producer_id not in self.guards
        )

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        entry = self.producers.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch or header.base_sequence < 0:
            return None
        for batch in entry.batches:
            if batch.last_sequence == header.last_sequence and batch.first_sequence == header.base_sequence:
                return batch
        return None

    def check(
        self, headers: Iterable[BatchHeader], guard: VerificationGuard | None = None, *, must_verify: bool = True
    ) -> None:
        """Raise if these batches of a client, in this order, are fenced, out of sequence or unverified."""
        ahead: dict[int, tuple[int, int]] = {}
        for header in headers:
            producer_id = header.producer_id
            if producer_id < 0:
                continue
            entry = self.producers.get(producer_id, UNKNOWN)
            if producer_id in ahead:
                epoch, last_sequence = ahead[producer_id]
            else:
                epoch, last_sequence = entry.epoch, entry.last_sequence
                if header.is_transactional and not (entry.txn_first_offset >= 0 and epoch == header.producer_epoch):
                    _check_epoch(header, epoch)
                    if must_verify and (guard is None or self.guards.get(producer_id) is not guard):
                        raise InvalidTxnState(
                            f"no transaction of producer {producer_id} is known to include this partition"
                        )
            if epoch >= 0:
                _check_epoch(header, epoch)
            if header.base_sequence >= 0:
                if self.guards and producer_id in self.guards:
                    _check_first_sequence(header, entry, self.guards[producer_id])
                if epoch >= 0:
                    _check_sequence(header, epoch, last_sequence)
            if entry.txn_first_offset >= 0 and not header.is_transactional:
                raise InvalidTxnState(
                    f"producer {producer_id} has an open transaction and sent a batch that is not transactional"
                )
            ahead[producer_id] = (header.producer_epoch, header.last_sequence)

    def is_next(self, header: BatchHeader) -> bool:
        """The batch is the next one of its producer, and there is no transaction: not a retry, and not refused."""
        entry = self.producers.get(header.producer_id)
        return (
            entry is not None
            and entry.epoch == header.producer_epoch
            and entry.txn_first_offset < 0
            and header.producer_id not in self.guards
            and bool(entry.batches)
            and header.base_sequence == (entry.last_sequence + 1) & SEQUENCE_MASK
        )

    def remember(self, header: BatchHeader, base_offset: int) -> None:
        """Update the state with a data batch that is now in the log at `base_offset`."""
        entry = self._entry(header)
        entry.last_timestamp = header.max_timestamp
        last_offset = base_offset + header.last_offset_delta
        entry.batches.append(
            BatchMetadata(header.last_sequence, last_offset, header.last_offset_delta, header.max_timestamp)
        )
        if len(entry.batches) > BATCHES_KEPT:
            del entry.batches[0]
        if header.is_transactional:
            self.guards.pop(header.producer_id, None)
            if entry.txn_first_offset < 0:
                entry.txn_first_offset = base_offset
                self.transactions.begin(header.producer_id, base_offset)

    def _entry(self, header: BatchHeader) -> ProducerEntry:
        """The producer's entry, at the epoch of this batch."""
        entry = self.producers.get(header.producer_id)
        if entry is None:
            entry = self.producers[header.producer_id] = ProducerEntry(header.producer_epoch, [])
        elif entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches.clear()
        return entry

    # Transactions

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, *, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard | None:
        """None: a transaction of the producer is already open here, so no verification is needed."""
        entry = self.producers.get(producer_id, UNKNOWN)
        if epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"producer {producer_id} is fenced: its epoch {epoch} is older than {entry.epoch}"
            )
        if entry.txn_first_offset >= 0 and entry.epoch == epoch:
            return None
        guard = self.guards.get(producer_id)
        if guard is None:
            if len(self.guards) >= GUARDS_MAX:
                del self.guards[next(iter(self.guards))]
            guard = self.guards[producer_id] = VerificationGuard(
                epoch=epoch, sequence=sequence, supports_epoch_bump=supports_epoch_bump, started_ms=now_ms
            )
        else:
            guard.note(epoch=epoch, sequence=sequence)
        return guard

    def check_marker(self, header: BatchHeader, marker: EndTransactionMarker, transaction_version: int) -> None:
        """Raise if a marker comes from a fenced coordinator, or belongs to an earlier transaction."""
        entry = self.producers.get(header.producer_id, UNKNOWN)
        epoch = header.producer_epoch
        if transaction_version >= TRANSACTION_VERSION_2 and epoch == entry.epoch:
            if entry.txn_first_offset >= 0 and epoch != EPOCH_MAX:
                raise InvalidProducerEpoch(
                    f"a marker of producer {header.producer_id} with epoch {epoch} is from an earlier transaction: "
                    "the marker of the open one has a higher epoch"
                )
        elif epoch < entry.epoch:
            _check_epoch(header, entry.epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"a marker for producer {header.producer_id} has coordinator epoch {marker.coordinator_epoch}, "
                f"which is older than {entry.coordinator_epoch}"
            )

    def remember_marker(
        self, header: BatchHeader, base_offset: int, marker: EndTransactionMarker | None
    ) -> AbortedTransaction | None:
        """Update the state with a control batch in the log. Returns the transaction that it aborted, for the index."""
        guard = self.guards.get(header.producer_id)
        # With transaction.version 2 the verification of the next transaction may begin before this one's marker.
        if guard is not None and not (guard.supports_epoch_bump and guard.epoch == header.producer_epoch):
            del self.guards[header.producer_id]
        entry = self._entry(header)
        if marker is None:  # emptied by compaction: only its epoch is left
            return None
        entry.last_timestamp = header.max_timestamp
        entry.coordinator_epoch = marker.coordinator_epoch
        first_offset, entry.txn_first_offset = entry.txn_first_offset, -1
        if first_offset < 0:
            return None
        stable_offset = self.transactions.end(first_offset, base_offset)
        return (
            None if marker.commit else AbortedTransaction(header.producer_id, first_offset, base_offset, stable_offset)
        )

    def note_aborted(self, aborted: AbortedTransaction) -> None:
        """Update the state for an abort whose marker cannot be read."""
        entry = self.producers.get(aborted.producer_id)
        if entry is not None and entry.txn_first_offset == aborted.first_offset:
            entry.txn_first_offset = -1
            self.transactions.end(aborted.first_offset, aborted.last_offset)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Drop producers without records in this time, unless they have an open transaction.

        Record timestamps decide, but an active producer may write records with old timestamps. So only producers that
        have also written nothing since the previous call are dropped.
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
        for producer_id, guard in list(self.guards.items()):
            if now_ms - guard.started_ms >= expiration_ms:
                del self.guards[producer_id]


def _check_epoch(header: BatchHeader, epoch: int) -> None:
    if header.producer_epoch < epoch:
        raise InvalidProducerEpoch(
            f"producer {header.producer_id} is fenced: its epoch {header.producer_epoch} is older than {epoch}"
        )


def _check_first_sequence(header: BatchHeader, entry: ProducerEntry, guard: VerificationGuard) -> None:
    if guard.supports_epoch_bump and header.base_sequence != 0 and not entry.batches:
        raise OutOfOrderSequenceNumber(
            f"producer {header.producer_id} begins with sequence {header.base_sequence} instead of 0"
        )
    if header.base_sequence > guard.lowest_sequence:
        raise OutOfOrderSequenceNumber(
            f"producer {header.producer_id} sent sequence {header.base_sequence}, "
            f"but {guard.lowest_sequence} was sent before it and is not appended yet"
        )


def _check_sequence(header: BatchHeader, epoch: int, last_sequence: int) -> None:
    if header.producer_epoch > epoch:
        if header.base_sequence != 0:
            raise OutOfOrderSequenceNumber(
                f"producer {header.producer_id} starts epoch {header.producer_epoch} "
                f"with sequence {header.base_sequence} instead of 0"
            )
    elif header.base_sequence != (last_sequence + 1) & SEQUENCE_MASK:
        raise OutOfOrderSequenceNumber(
            f"producer {header.producer_id} sent sequence {header.base_sequence}, "
            f"but {(last_sequence + 1) & SEQUENCE_MASK} was expected"
        )
