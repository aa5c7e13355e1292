"""The state of one partition of __transaction_state.

Durable, changed only by `replay`: `transactions`, and `ongoing`, which is derived from it. The last record of a
transactional id has its whole state. In memory only: `timers`.
"""

from collections.abc import Callable

from barnabas.coordinator.core.decision import Now
from barnabas.coordinator.core.ports import ProducerIds
from barnabas.coordinator.core.timers import Timers
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.states import ONGOING
from barnabas.coordinator.txn.stored import TransactionRecord, value_version
from barnabas.coordinator.txn.transaction import NO_PRODUCER_ID, Transaction

TIMEOUTS = ("timeouts",)
EXPIRY = ("expiry",)


class ProducerIdNeeded(Exception):
    """There are no producer ids left: the shell must refill them and decide again."""


class TransactionStore:
    def __init__(
        self,
        *,
        coordinator_epoch: int,
        settings: TransactionSettings,
        producer_ids: ProducerIds,
        transaction_version: Callable[[], int],
    ) -> None:
        """`transaction_version` is the finalised level of the feature."""
        self.coordinator_epoch = coordinator_epoch
        """The leader epoch of the partition. Markers carry it, so those of an earlier coordinator are fenced."""
        self.settings = settings
        self.producer_ids = producer_ids
        self.transaction_version = transaction_version
        self.transactions: dict[str, Transaction] = {}
        self.ongoing: dict[str, None] = {}
        """The ids whose transaction is Ongoing: only these can time out."""
        self.timers = Timers()

    def record(self, transactional_id: str, transaction: Transaction | None) -> TransactionRecord:
        return TransactionRecord(transactional_id, transaction, value_version(self.transaction_version()))

    def new_producer_id(self) -> int:
        producer_id = self.producer_ids.take()
        if producer_id is None:
            raise ProducerIdNeeded
        return producer_id

    def producer_id_after(self, transaction: Transaction) -> int:
        """A new id if the next epoch is the last one, -1 if epochs are left."""
        return self.new_producer_id() if transaction.is_epoch_exhausted else NO_PRODUCER_ID

    def replay(self, record: TransactionRecord) -> None:
        transactional_id, transaction, _ = record
        if transaction is None:
            self.transactions.pop(transactional_id, None)
            self.ongoing.pop(transactional_id, None)
            return
        self.transactions[transactional_id] = transaction
        if transaction.state is ONGOING:
            self.ongoing[transactional_id] = None
        else:
            self.ongoing.pop(transactional_id, None)

    def schedule_timeouts(self, now: Now) -> None:
        if self.timers.deadline_ms(TIMEOUTS) is None:
            self.timers.set(TIMEOUTS, now.monotonic_ms + self.settings.timeout_check_interval_ms)

    def schedule_expiry(self, now: Now) -> None:
        if self.timers.deadline_ms(EXPIRY) is None:
            self.timers.set(EXPIRY, now.monotonic_ms + self.settings.expiration_check_interval_ms)
