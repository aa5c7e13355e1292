"""The core of the transaction coordinator for one partition, driven by the runtime."""

from collections.abc import Hashable, Sequence

from barnabas.coordinator.core.decision import Decision, Now, Release
from barnabas.coordinator.core.ports import KeyValue
from barnabas.coordinator.txn.completion import completion_of
from barnabas.coordinator.txn.states import COMPLETING
from barnabas.coordinator.txn.store import TIMEOUTS, TransactionStore
from barnabas.coordinator.txn.stored import TransactionRecord, decode_record, encode_record
from barnabas.coordinator.txn.timeouts import decide_expiry, decide_timeouts


class TransactionShard(TransactionStore):
    def encode_all(self, records: Sequence[TransactionRecord]) -> list[KeyValue]:
        return [encode_record(record) for record in records]

    def decode(self, key: bytes, value: bytes | None) -> TransactionRecord | None:
        return decode_record(key, value)

    def on_loaded(self, now: Now) -> Decision[None]:
        """Completes the transactions that were decided: sends all their markers again."""
        decision: Decision[None] = Decision(None)
        for transactional_id, transaction in self.transactions.items():
            if transaction.state in COMPLETING:
                decision.sends.append(completion_of(self, transactional_id, transaction))
        if self.ongoing:
            self.schedule_timeouts(now)
        if self.transactions:
            self.schedule_expiry(now)
        return decision

    def on_timer(self, key: Hashable, now: Now) -> Decision[None]:
        return decide_timeouts(self, now) if key == TIMEOUTS else decide_expiry(self, now)

    def on_unloaded(self) -> list[Release]:
        return []
