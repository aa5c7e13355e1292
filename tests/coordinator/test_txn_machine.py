"""Random producers on a random clock, with crashes at any moment, and the invariants that must hold.

After every step, replaying the log gives the core's state. Epochs never decrease. A fenced producer never adds a
partition and never ends a transaction. Every transaction has one outcome in all of its partitions, however often its
markers are sent. Producers use the old and the new protocol, and the feature level rises from 0 to 2 in between.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from txn_core import Core, durable

from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.transaction import EPOCH_MAX, ProducerIdAndEpoch
from barnabas.model import TopicPartition
from barnabas.wire.errors import ConcurrentTransactions, KafkaError
from property_effort import examples

IDS = ("x", "y")
PARTITIONS = [TopicPartition("t", index) for index in range(3)]


class Producer:
    def __init__(self, transactional_id: str, version: int, identity: ProducerIdAndEpoch) -> None:
        self.transactional_id = transactional_id
        self.version = version
        self.identity = identity


class Transactions(RuleBasedStateMachine):
    producers = Bundle("producers")

    def __init__(self) -> None:
        super().__init__()
        self.core = Core(transaction_version=0, settings=TransactionSettings(transactional_id_expiration_ms=50_000))
        self.owners: dict[str, Producer] = {}
        """The last producer that initialised each id."""
        self.highest: dict[str, ProducerIdAndEpoch] = {}
        self.outcomes: dict[tuple[int, int], tuple[bool, frozenset[TopicPartition]]] = {}

    @rule(target=producers, transactional_id=st.sampled_from(IDS), version=st.sampled_from([0, 2]))
    def start(self, transactional_id: str, version: int) -> Producer:
        """It retries until it gets an epoch, as clients do."""
        while True:
            try:
                identity = self.core.init(transactional_id, timeout_ms=15_000)
                break
            except ConcurrentTransactions:
                self.markers_are_written()
        producer = Producer(transactional_id, version, identity)
        self.owners[transactional_id] = producer
        return producer

    @rule(producer=producers, partition=st.sampled_from(PARTITIONS))
    def add(self, producer: Producer, partition: TopicPartition) -> None:
        try:
            self.core.add(producer.identity, partition, version=producer.version, id=producer.transactional_id)
        except KafkaError:
            return
        assert self.owners[producer.transactional_id] is producer, "a fenced producer wrote"

    @rule(producer=producers, commit=st.booleans())
    def end(self, producer: Producer, commit: bool) -> None:
        log_before = len(self.core.log)
        try:
            after = self.core.end(
                producer.identity, commit=commit, version=producer.version, id=producer.transactional_id
            )
        except KafkaError:
            assert len(self.core.log) == log_before
            return
        if self.owners[producer.transactional_id] is not producer:
            assert len(self.core.log) == log_before, "a fenced producer ended a transaction"
            return
        if producer.version >= 2:
            producer.identity = after

    @rule()
    def markers_are_written(self) -> None:
        if self.core.completions:
            self.core.complete()

    @rule(by_ms=st.sampled_from([1, 4_000, 11_000, 60_000]))
    def time_passes(self, by_ms: int) -> None:
        self.core.elapse(by_ms)

    @rule()
    def crash(self) -> None:
        self.core.crash()

    @rule(transactional_id=st.sampled_from(IDS))
    def epochs_are_nearly_used_up(self, transactional_id: str) -> None:
        """As if there had been thousands of transactions before. Stored, so that it survives a crash."""
        transaction = self.core.shard.transactions.get(transactional_id)
        owner = self.owners.get(transactional_id)
        if transaction is None or owner is None or owner.identity != transaction.producer:
            return
        if transaction.state.value not in ("Empty", "Ongoing") or transaction.producer_epoch > EPOCH_MAX - 2:
            return
        near = transaction._replace(producer_epoch=EPOCH_MAX - 2)
        record = self.core.shard.record(transactional_id, near)
        self.core.log += self.core.shard.encode_all([record._replace(version=1)])
        self.core.shard.replay(record)
        owner.identity = near.producer

    @rule()
    def the_feature_is_raised(self) -> None:
        self.core.level = min(self.core.level + 1, 2)

    @invariant()
    def the_log_gives_everything_back(self) -> None:
        if self.core.level > 0:  # below, the log has no room for some of it
            assert durable(self.core.replayed())[0].keys() == durable(self.core.shard)[0].keys()
        replayed, expected = self.core.replayed(), self.core.shard
        assert replayed.ongoing.keys() == expected.ongoing.keys()
        for transactional_id, transaction in expected.transactions.items():
            stored = replayed.transactions[transactional_id]
            assert stored.producer == transaction.producer
            assert (stored.state, stored.partitions) == (transaction.state, transaction.partitions)
            assert (stored.start_ms, stored.timeout_ms) == (transaction.start_ms, transaction.timeout_ms)

    @invariant()
    def epochs_do_not_go_back(self) -> None:
        for transactional_id, transaction in self.core.shard.transactions.items():
            now = transaction.producer
            before = self.highest.get(transactional_id, now)
            assert now >= before, "a higher id, or a higher epoch of the same id"
            self.highest[transactional_id] = now

    @invariant()
    def a_transaction_has_one_outcome(self) -> None:
        for completion in self.core.completions:
            marker = completion.marker
            if marker.transaction_version < 2:
                continue  # the epoch does not name the transaction
            outcome = (marker.commit, completion.partitions)
            assert self.outcomes.setdefault((marker.producer_id, marker.producer_epoch), outcome) == outcome


Transactions.TestCase.settings = settings(max_examples=examples(75), stateful_step_count=40, deadline=None)
TestTransactions = Transactions.TestCase
