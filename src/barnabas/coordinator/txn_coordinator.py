"""The transaction coordinator: what handlers call, for all partitions of __transaction_state that this broker leads.

An error of the whole request is raised as a KafkaError. A transaction cannot begin while the last one is being
completed: Kafka has clients try again, here a request waits a little first. On one node markers are written at once, so
requests seldom wait.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.core.key_hash import partition_of
from barnabas.coordinator.core.ports import CoordinatorLog, ProducerIds, TransactionMarkers
from barnabas.coordinator.held_requests import Pending
from barnabas.coordinator.runtime import CoordinatorRuntime
from barnabas.coordinator.txn.add_partitions import PartitionClaim, decide_add_partitions, verify_partitions
from barnabas.coordinator.txn.completion import Completion, decide_complete
from barnabas.coordinator.txn.describe import described, filter_of, listed
from barnabas.coordinator.txn.end_txn import EndTxn, decide_end_txn
from barnabas.coordinator.txn.init_producer_id import InitProducerId, decide_init_producer_id
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.shard import TransactionShard
from barnabas.coordinator.txn.store import ProducerIdNeeded
from barnabas.coordinator.txn.stored import TRANSACTIONAL_ID_BYTES_MAX
from barnabas.coordinator.txn.transaction import EPOCH_BUMP_SINCE, ProducerIdAndEpoch
from barnabas.coordinator.txn_completion import TransactionCompletion
from barnabas.env import Clock
from barnabas.model import TopicPartition
from barnabas.wire.errors import ConcurrentTransactions, InvalidRequest, KafkaError
from barnabas.wire.messages import describe_transactions
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

ATTEMPTS_MAX: Final = 3
"""A request may have to wait for a completion and then for the abort of another producer's transaction."""

R = TypeVar("R")
Results = Mapping[TopicPartition, KafkaError | None]


class TransactionCoordinator:
    def __init__(
        self,
        *,
        log: CoordinatorLog,
        markers: TransactionMarkers,
        producer_ids: ProducerIds,
        clock: Clock,
        wait_clock: Clock,
        settings: TransactionSettings,
        transaction_version: Callable[[], int],
        partition_count: int,
    ) -> None:
        """`clock` is for transaction timeouts, `wait_clock` for pauses between retries."""
        self.partition_count = partition_count
        """Of __transaction_state. Must not change once a partition is loaded."""
        self._clock = clock
        self._settings = settings
        self._producer_ids = producer_ids
        self._completion = TransactionCompletion(markers, wait_clock, self._store_complete)
        self._runtime = CoordinatorRuntime(
            log=log,
            clock=clock,
            new_shard=lambda epoch: TransactionShard(
                coordinator_epoch=epoch,
                settings=settings,
                producer_ids=producer_ids,
                transaction_version=transaction_version,
            ),
            commit_timeout_ms=settings.commit_timeout_ms,
            send=self._completion.start,
        )

    def expect(self, partition: int) -> None:
        """This broker leads the partition and will `load` it shortly."""
        self._runtime.expect(partition)

    def has_held_requests(self, partition: int) -> bool:
        """Whether requests wait for the partition to be loaded."""
        return self._runtime.has_held_requests(partition)

    async def load(self, partition: int, leader_epoch: int) -> None:
        """This broker leads the partition: read it, and complete the transactions that were decided."""
        self._completion.forget(partition)
        await self._runtime.load(partition, leader_epoch)

    def unload(self, partition: int) -> None:
        """Another broker leads the partition, and completes the transactions that were decided."""
        self._completion.forget(partition)
        self._runtime.unload(partition)

    async def init_producer_id(self, request: InitProducerId) -> ProducerIdAndEpoch:
        return await self._decide(
            request.transactional_id, lambda shard, now: decide_init_producer_id(shard, request, now)
        )

    async def end(self, request: EndTxn) -> ProducerIdAndEpoch:
        """Returns the id and epoch for the next transaction, once the outcome (Prepare) is committed.

        Then the runtime starts the completion, which ends with `_store_complete`.
        """
        return await self._decide(request.transactional_id, lambda shard, now: decide_end_txn(shard, request, now))

    def _store_complete(self, partition: int, completion: Completion) -> Pending[None] | None:
        """All markers are written. None: it is committed already."""
        return self._runtime.submit(partition, lambda shard, now: decide_complete(shard, completion, now))

    async def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        verify_only: bool,
        client_version: int = EPOCH_BUMP_SINCE,
    ) -> Results:
        """The error of each partition, or None. Either all are added, or none."""
        claim = PartitionClaim(transactional_id, producer_id, producer_epoch, partitions)
        try:
            if verify_only:
                return await self._runtime.read(
                    self._partition_of(transactional_id), lambda shard: verify_partitions(shard, claim)
                )
            await self._decide(
                transactional_id, lambda shard, now: decide_add_partitions(shard, claim, client_version, now)
            )
        except KafkaError as error:
            return dict.fromkeys(partitions, error)
        return dict.fromkeys(partitions)

    def try_add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        verify_only: bool = False,
    ) -> Results | None:
        """Like `add_partitions`, if that is possible without waiting. None: it is not, call `add_partitions`."""
        claim = PartitionClaim(transactional_id, producer_id, producer_epoch, partitions)
        try:
            partition = self._partition_of(transactional_id)
            if self._runtime.is_loading(partition):
                return None
            if verify_only:
                results = self._runtime.ask(partition, lambda shard: verify_partitions(shard, claim))
                return None if isinstance(results, Pending) else results
            outcome = self._runtime.submit(
                partition, lambda shard, now: decide_add_partitions(shard, claim, EPOCH_BUMP_SINCE, now)
            )
        except ConcurrentTransactions:
            return None
        except KafkaError as error:
            return dict.fromkeys(partitions, error)
        return None if isinstance(outcome, Pending) else dict.fromkeys(partitions)

    async def list(self, request: ListTransactionsRequest) -> ListTransactionsResponse:
        """Applies all filters but the pattern, which is matched by a worker (`describe.ids_matching`)."""
        chosen, unknown_states = filter_of(request)
        now_ms = self._clock.now_ms()
        answers = await self._runtime.read_all(lambda shard: list(listed(shard, chosen, now_ms)))
        return ListTransactionsResponse(
            unknown_state_filters=tuple(unknown_states),
            transaction_states=tuple(state for states in answers for state in states),
        )

    async def describe(self, transactional_id: str) -> describe_transactions.TransactionState:
        return await self._runtime.read(
            self._partition_of(transactional_id), lambda shard: described(shard, transactional_id)
        )

    def _partition_of(self, transactional_id: str) -> int:
        if not transactional_id:
            raise InvalidRequest("the transactional id is empty")
        if len(transactional_id.encode(errors="surrogatepass")) > TRANSACTIONAL_ID_BYTES_MAX:
            raise InvalidRequest(f"the transactional id has more than {TRANSACTIONAL_ID_BYTES_MAX} bytes")
        return partition_of(transactional_id, self.partition_count)

    async def _decide(self, transactional_id: str, decide: Callable[[TransactionShard, Now], Decision[R]]) -> R:
        partition = self._partition_of(transactional_id)
        attempts = 1
        while True:
            try:
                return await self._runtime.write(partition, decide)
            except ProducerIdNeeded:
                await self._producer_ids.refill()
            except ConcurrentTransactions:
                if attempts == ATTEMPTS_MAX:
                    raise
                attempts += 1
                await self._completion.wait(partition, transactional_id, self._settings.completion_wait_ms)
