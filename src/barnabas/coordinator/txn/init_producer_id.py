"""InitProducerId: a producer takes over a transactional id, and the producer that had it before is fenced.

    Empty, CompleteCommit, CompleteAbort   the epoch goes up; where epochs are used up, a new producer id begins at 0
    Ongoing                                the transaction is aborted first; the producer tries again
    PrepareCommit, PrepareAbort            the producer tries again

A producer may send the id and epoch that it has: it recovers from an error, or repeats a request whose answer was lost.
It is fenced unless that is the latest epoch, or the one before, if the latest may not have reached it.
"""

from typing import NamedTuple

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.txn.completion import fenced, prepare
from barnabas.coordinator.txn.states import COMPLETING, EMPTY, ONGOING
from barnabas.coordinator.txn.store import TransactionStore
from barnabas.coordinator.txn.transaction import (
    EPOCH_MAX,
    NO_EPOCH,
    NO_TIMESTAMP,
    TIMEOUT_MS_NEVER,
    ProducerIdAndEpoch,
    Transaction,
)
from barnabas.wire.errors import (
    ConcurrentTransactions,
    InvalidTransactionTimeout,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)


class InitProducerId(NamedTuple):
    transactional_id: str
    timeout_ms: int
    expected: ProducerIdAndEpoch | None = None
    enable_two_phase_commit: bool = False
    keep_prepared: bool = False


def decide_init_producer_id(store: TransactionStore, request: InitProducerId, now: Now) -> Decision[ProducerIdAndEpoch]:
    timeout_ms = _timeout_ms(store, request)
    transaction = store.transactions.get(request.transactional_id)
    if transaction is None:
        transaction = Transaction(store.new_producer_id(), NO_EPOCH, timeout_ms, last_update_ms=now.wall_ms)
    if transaction.state in COMPLETING:
        raise ConcurrentTransactions(
            f"the last transaction of {request.transactional_id} is still being completed; try again"
        )
    expected = request.expected
    if expected is not None and not _is_known(transaction, expected):
        raise ProducerFenced(f"another producer has taken over {request.transactional_id}")
    if transaction.state is ONGOING:
        return _abort_first(store, request.transactional_id, transaction, now)
    if transaction.is_epoch_exhausted and (expected is None or expected.producer_epoch == transaction.producer_epoch):
        last_epoch = NO_EPOCH if expected is None else transaction.producer_epoch
        producer = ProducerIdAndEpoch(store.new_producer_id(), 0)
    else:
        producer, last_epoch = _next_epoch(request.transactional_id, transaction, expected)
    initialised = transaction.moved_to(
        EMPTY,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=NO_TIMESTAMP,
        last_update_ms=now.wall_ms,
    )
    store.schedule_expiry(now)
    return Decision(producer, [store.record(request.transactional_id, initialised)])


def _timeout_ms(store: TransactionStore, request: InitProducerId) -> int:
    settings = store.settings
    if request.enable_two_phase_commit and not settings.two_phase_commit:
        raise TransactionalIdAuthorizationFailed("two-phase commit is off: set transaction.two.phase.commit.enable")
    if request.keep_prepared:
        raise UnsupportedVersion("a prepared transaction cannot be kept")
    if request.enable_two_phase_commit:
        return TIMEOUT_MS_NEVER
    if not 0 < request.timeout_ms <= settings.timeout_ms_max:
        raise InvalidTransactionTimeout(
            f"the transaction timeout is {request.timeout_ms} ms; 1 to {settings.timeout_ms_max} ms are allowed "
            "(transaction.max.timeout.ms)"
        )
    return request.timeout_ms


def _is_known(transaction: Transaction, expected: ProducerIdAndEpoch) -> bool:
    if transaction.producer_epoch == NO_EPOCH or expected.producer_id == transaction.producer_id:
        return True
    # Its epochs were used up, it got a new id, and that answer may have been lost.
    return expected.producer_id == transaction.previous_producer_id and expected.producer_epoch >= EPOCH_MAX - 1


def _next_epoch(
    transactional_id: str, transaction: Transaction, expected: ProducerIdAndEpoch | None
) -> tuple[ProducerIdAndEpoch, int]:
    """The producer, and its previous epoch."""
    epoch = transaction.producer_epoch
    if expected is None:
        return ProducerIdAndEpoch(transaction.producer_id, epoch + 1), NO_EPOCH
    if epoch == NO_EPOCH or (expected.producer_epoch == epoch and expected.producer_id == transaction.producer_id):
        return ProducerIdAndEpoch(transaction.producer_id, epoch + 1), epoch
    if expected.producer_epoch == transaction.last_producer_epoch:
        return transaction.producer, transaction.last_producer_epoch
    raise ProducerFenced(f"{transactional_id} is at epoch {epoch}, not {expected.producer_epoch}")


def _abort_first(
    store: TransactionStore, transactional_id: str, transaction: Transaction, now: Now
) -> Decision[ProducerIdAndEpoch]:
    aborting = ConcurrentTransactions(f"the open transaction of {transactional_id} is being aborted; try again")
    decision: Decision[ProducerIdAndEpoch] = Decision(aborting)
    prepare(store, transactional_id, fenced(store, transaction, now), decision)
    return decision
