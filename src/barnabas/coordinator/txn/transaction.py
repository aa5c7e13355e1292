"""The state of a transactional id: its producer, and its open or last transaction.

Immutable. A decision makes the next state with `moved_to`, the log stores it, and `replay` replaces the last one.
"""

from typing import Any, Final, NamedTuple

from barnabas.coordinator.txn.states import EMPTY, TRANSITIONS, TransactionState
from barnabas.model import TopicPartition

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1

EPOCH_MAX: Final = 2**15 - 1
"""Reserved for fencing: no producer gets it."""
TIMEOUT_MS_NEVER: Final = 2**31 - 1
"""The timeout of a transaction in a two-phase commit: it never times out."""

EPOCH_BUMP_SINCE: Final = 2
"""From this transaction.version on, every transaction has its own epoch."""


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    producer_epoch: int


class Transaction(NamedTuple):
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    last_update_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """While it completes: the next producer id, if the epochs of this one are used up."""
    client_version: int = 0
    """The transaction.version that the client uses, which decides how the transaction ends."""
    last_producer_epoch: int = NO_EPOCH
    """The epoch before the last bump, to recognise repeated requests. In memory only, as in Kafka."""

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= EPOCH_MAX - 1

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    def moved_to(self, state: TransactionState, **changes: Any) -> "Transaction":
        assert state in TRANSITIONS[self.state], f"{self.state} to {state}"
        return self._replace(state=state, previous_producer_id=self.producer_id, **changes)
