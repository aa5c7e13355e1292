"""A transaction shard driven by the test: records in a list, markers in another, and the test moves time."""

from collections.abc import Callable
from itertools import count
from typing import Any

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.core.ports import KeyValue
from barnabas.coordinator.txn.add_partitions import PartitionClaim, decide_add_partitions, verify_partitions
from barnabas.coordinator.txn.completion import Completion, decide_complete
from barnabas.coordinator.txn.end_txn import EndTxn, decide_end_txn
from barnabas.coordinator.txn.init_producer_id import InitProducerId, decide_init_producer_id
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.shard import TransactionShard
from barnabas.coordinator.txn.store import ProducerIdNeeded
from barnabas.coordinator.txn.transaction import NO_EPOCH, ProducerIdAndEpoch, Transaction
from barnabas.model import TopicPartition
from barnabas.wire.errors import KafkaError

START_MS = 1_750_000_000_000
T0, T1, T2 = (TopicPartition("t", index) for index in range(3))


class CountedIds:
    """Ids from 1000 on, of which `left` are available at once."""

    def __init__(self) -> None:
        self._ids = count(1000)
        self.left = 1_000_000

    def take(self) -> int | None:
        if self.left == 0:
            return None
        self.left -= 1
        return next(self._ids)

    async def refill(self) -> None:
        self.left = 1000


class Core:
    def __init__(self, *, transaction_version: int = 2, settings: TransactionSettings | None = None) -> None:
        self.level = transaction_version
        self.settings = settings or TransactionSettings()
        self.ids = CountedIds()
        self.log: list[KeyValue] = []
        self.completions: list[Completion] = []
        self.now_ms = 0
        self.coordinator_epoch = 0
        self.shard = self.new_shard()

    def new_shard(self) -> TransactionShard:
        return TransactionShard(
            coordinator_epoch=self.coordinator_epoch,
            settings=self.settings,
            producer_ids=self.ids,
            transaction_version=lambda: self.level,
        )

    @property
    def now(self) -> Now:
        return Now(START_MS + self.now_ms, self.now_ms)

    def carry_out(self, decision: Decision[Any]) -> Any:
        """The response; raises it if it is an error, after the records are stored."""
        for record in decision.records:
            self.log += self.shard.encode_all([record])
            self.shard.replay(record)
        self.completions += decision.sends
        if isinstance(decision.response, KafkaError):
            raise decision.response
        return decision.response

    def init(
        self,
        transactional_id: str = "x",
        timeout_ms: int = 60_000,
        expected: ProducerIdAndEpoch | None = None,
        **more: Any,
    ) -> ProducerIdAndEpoch:
        request = InitProducerId(transactional_id, timeout_ms, expected, **more)
        return self._with_ids(lambda: decide_init_producer_id(self.shard, request, self.now))

    def _with_ids(self, decide: Callable[[], Decision[ProducerIdAndEpoch]]) -> ProducerIdAndEpoch:
        try:
            decision = decide()
        except ProducerIdNeeded:
            self.ids.left = 10
            decision = decide()
        return self.carry_out(decision)  # type: ignore[no-any-return]  # any is what decisions hold

    def add(self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, version: int = 2, id: str = "x") -> None:
        claim = PartitionClaim(id, *producer, partitions or (T0,))
        self.carry_out(decide_add_partitions(self.shard, claim, version, self.now))

    def verify(self, producer: ProducerIdAndEpoch, *partitions: TopicPartition) -> dict[TopicPartition, str]:
        results = verify_partitions(self.shard, PartitionClaim("x", *producer, partitions))
        return {partition: "" if error is None else error.code.name for partition, error in results.items()}

    def end(
        self, producer: ProducerIdAndEpoch, *, commit: bool = True, version: int = 2, id: str = "x"
    ) -> ProducerIdAndEpoch:
        request = EndTxn(id, *producer, commit, version)
        return self._with_ids(lambda: decide_end_txn(self.shard, request, self.now))

    def complete(self) -> Completion:
        """The markers of the oldest decision are written."""
        completion = self.completions.pop(0)
        self.carry_out(decide_complete(self.shard, completion, self.now))
        return completion

    def ended(self, producer: ProducerIdAndEpoch, *, commit: bool = True, version: int = 2) -> ProducerIdAndEpoch:
        after = self.end(producer, commit=commit, version=version)
        self.complete()
        return after

    def elapse(self, by_ms: int) -> None:
        end_ms = self.now_ms + by_ms
        while (due_ms := self.shard.timers.next_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            key = self.shard.timers.pop_due(self.now_ms)
            if key is not None:
                self.carry_out(self.shard.on_timer(key, self.now))
        self.now_ms = end_ms

    def crash(self) -> None:
        """Only the log survives."""
        self.coordinator_epoch += 1
        self.completions = []
        self.shard = self.replayed()
        self.carry_out(self.shard.on_loaded(self.now))

    def replayed(self) -> TransactionShard:
        shard = self.new_shard()
        for key, value in self.log:
            record = shard.decode(key, value)
            assert record is not None
            shard.replay(record)
        return shard

    def state(self, transactional_id: str = "x") -> str:
        return self.shard.transactions[transactional_id].state.value


def durable(shard: TransactionShard) -> tuple[dict[str, Transaction], set[str]]:
    transactions = {
        transactional_id: transaction._replace(last_producer_epoch=NO_EPOCH)
        for transactional_id, transaction in shard.transactions.items()
    }
    return transactions, set(shard.ongoing)


def error_of(action: Callable[[], object]) -> str:
    try:
        action()
    except KafkaError as error:
        return error.code.name
    return "none"
