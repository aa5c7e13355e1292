"""Aborts transactions that take too long, and removes transactional ids that are no longer used.

Both are checked periodically, as in Kafka: the first every 10 seconds, the second every hour. If there are many, for
example because a thousand producers died together, they are handled in batches.
"""

from typing import Final

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.txn.completion import fenced, prepare
from barnabas.coordinator.txn.states import IDLE
from barnabas.coordinator.txn.store import EXPIRY, TIMEOUTS, ProducerIdNeeded, TransactionStore
from barnabas.coordinator.txn.transaction import TIMEOUT_MS_NEVER, Transaction

PRODUCER_ID_WAIT_MS: Final = 100
"""The next check when a new producer id is needed first."""
ABORTED_AT_ONCE_MAX: Final = 20
"""About 200 us each, with their markers."""
EXPIRED_AT_ONCE_MAX: Final = 1_000
"""About 5 us each."""
REST_MS: Final = 5
"""The pause before the next batch."""


def decide_timeouts(store: TransactionStore, now: Now) -> Decision[None]:
    """Abort overdue transactions. Their producers are fenced by a new epoch."""
    decision: Decision[None] = Decision(None, atomic=False)
    for transactional_id in store.ongoing:
        transaction = store.transactions[transactional_id]
        if not _is_overdue(transaction, now.wall_ms):
            continue
        if len(decision.records) == ABORTED_AT_ONCE_MAX:
            store.timers.set(TIMEOUTS, now.monotonic_ms + REST_MS)
            break
        try:
            prepare(store, transactional_id, fenced(store, transaction, now), decision)
        except ProducerIdNeeded:
            store.timers.set(TIMEOUTS, now.monotonic_ms + PRODUCER_ID_WAIT_MS)
    if len(store.ongoing) > len(decision.records):
        store.schedule_timeouts(now)
    return decision


def _is_overdue(transaction: Transaction, now_ms: int) -> bool:
    return transaction.timeout_ms != TIMEOUT_MS_NEVER and transaction.start_ms + transaction.timeout_ms < now_ms


def decide_expiry(store: TransactionStore, now: Now) -> Decision[None]:
    decision: Decision[None] = Decision(None, atomic=False)
    expired_before_ms = now.wall_ms - store.settings.transactional_id_expiration_ms
    for transactional_id, transaction in store.transactions.items():
        if transaction.state in IDLE and transaction.last_update_ms <= expired_before_ms:
            if len(decision.records) == EXPIRED_AT_ONCE_MAX:
                store.timers.set(EXPIRY, now.monotonic_ms + REST_MS)
                break
            decision.records.append(store.record(transactional_id, None))
    if len(store.transactions) > len(decision.records):
        store.schedule_expiry(now)
    return decision
