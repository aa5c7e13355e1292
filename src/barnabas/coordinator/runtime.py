"""The shell around coordinator cores: decide > append > replay > release, for each partition.

A request runs from its decision to the append without a pause, so the order in the log is the order of the decisions.
Records are replayed as soon as they are written, and the next decision builds on them. Whatever depends on them waits
until they are committed: responses, reads, and in-memory state (`Decision.on_committed`). So no client sees state that
could still be lost.

If the append fails, nothing is replayed and `Decision.on_failed` takes the in-memory state back. If the records are
written but never committed (this broker lost leadership), the response is an error, and the new leader's log says what
happened.

States of a partition: absent (NotCoordinator) > loading (requests are held) > active > absent.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from barnabas.coordinator.core.decision import Decision, InTransaction, Now, Parked, Release, TransactionEnd
from barnabas.coordinator.core.ports import CoordinatorLog, KeyValue, LoggedBatch
from barnabas.coordinator.core.timers import Timers
from barnabas.coordinator.errors import coordinator_error
from barnabas.coordinator.held_requests import HeldRequests, Pending
from barnabas.env import Clock, Timer
from barnabas.wire.errors import KafkaError, NotCoordinator, RequestTimedOut

logger = logging.getLogger(__name__)

# Well below max.message.bytes, which is 1 MiB by default.
BATCH_BYTES_MAX = 512 * 1024


class Shard(Protocol):
    """A core: the state of one partition, and the decisions about it."""

    timers: Timers

    def encode_all(self, records: Sequence[Any]) -> Sequence[KeyValue]:
        """At least one for each record."""

    def decode(self, key: bytes, value: bytes | None) -> Any | None:
        """None for an unknown type of record. Raises CorruptMessage for a broken one."""

    def replay(self, record: Any) -> None:
        """A record, or `InTransaction` or `TransactionEnd` where the log has transactional records."""

    def on_loaded(self, now: Now) -> Decision[None]: ...

    def on_timer(self, key: Hashable, now: Now) -> Decision[None]: ...

    def on_unloaded(self) -> list[Release]: ...


S = TypeVar("S", bound=Shard)
R = TypeVar("R")

_Settled = asyncio.Future[KafkaError | None]


class _Loading:
    __slots__ = ("held",)

    def __init__(self, held: HeldRequests) -> None:
        self.held = held


class _Active(Generic[S]):
    __slots__ = ("partition", "shard", "timer", "timer_ms", "unsettled")

    def __init__(self, partition: int, shard: S) -> None:
        self.partition = partition
        self.shard = shard
        self.timer: Timer | None = None
        self.timer_ms = 0
        self.unsettled: _Settled | None = None
        """The last append that is not committed yet. Earlier ones are settled before it, or with it."""


class CoordinatorRuntime(Generic[S]):
    def __init__(
        self,
        *,
        log: CoordinatorLog,
        clock: Clock,
        new_shard: Callable[[int], S],
        commit_timeout_ms: int,
        send: Callable[[int, Any], None] | None = None,
    ) -> None:
        """`new_shard` gets the leader epoch of the partition, `send` gets `Decision.sends`."""
        self._send = send
        self._log = log
        self._clock = clock
        self._new_shard = new_shard
        self._commit_timeout_ms = commit_timeout_ms
        self._partitions: dict[int, _Active[S] | _Loading] = {}
        self._parked: dict[Parked[Any], asyncio.Future[Any]] = {}

    def shard(self, partition: int) -> S:
        """The core of an active partition, for in-memory state only: nothing that depends on records."""
        active = self._partitions.get(partition)
        if not isinstance(active, _Active):
            raise _not_coordinator()
        return active.shard

    def partitions(self) -> list[int]:
        """Active and loading ones."""
        return sorted(self._partitions)

    def active_partitions(self) -> list[int]:
        return [partition for partition in self.partitions() if not self.is_loading(partition)]

    def is_loading(self, partition: int) -> bool:
        return isinstance(self._partitions.get(partition), _Loading)

    def has_held_requests(self, partition: int) -> bool:
        loading = self._partitions.get(partition)
        return isinstance(loading, _Loading) and bool(loading.held)

    async def write(self, partition: int, decide: Callable[[S, Now], Decision[R]]) -> R:
        outcome = self.submit(partition, decide)
        return await outcome if isinstance(outcome, Pending) else outcome

    def submit(self, partition: int, decide: Callable[[S, Now], Decision[R]]) -> R | Pending[R]:
        """Like `write`, but returns the response itself if there is nothing to wait for."""
        active = self._partitions.get(partition)
        if not isinstance(active, _Active):
            return self._hold(partition, partial(self.submit, partition, decide))
        now = self._now()
        decision = decide(active.shard, now)
        response = decision.response
        if isinstance(response, Parked):
            waiting: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            self._parked[response] = waiting
            try:
                self._carry_out(active, decision, now)
            except BaseException:
                del self._parked[response]
                raise
            return Pending(partial(self._released, response, waiting))
        outcome = self._carry_out(active, decision, now)
        if outcome is None and active.unsettled is not None:
            outcome = active.unsettled  # the response may depend on records that are not committed yet
        if outcome is not None:
            return Pending(partial(self._when_settled, outcome, response))
        if isinstance(response, KafkaError):
            raise response
        return response

    async def _released(self, parked: Parked[R], waiting: "asyncio.Future[R]") -> R:
        try:
            return await waiting
        finally:
            self._parked.pop(parked, None)

    async def _when_settled(self, outcome: "_Settled | KafkaError", response: R | KafkaError) -> R:
        await self._settled(outcome)
        if isinstance(response, KafkaError):
            raise response
        return response

    async def read(self, partition: int, ask: Callable[[S], R]) -> R:
        outcome = self.ask(partition, ask)
        return await outcome if isinstance(outcome, Pending) else outcome

    def ask(self, partition: int, ask: Callable[[S], R]) -> R | Pending[R]:
        """Like `read`, but returns the answer itself if there is nothing to wait for."""
        active = self._partitions.get(partition)
        if not isinstance(active, _Active):
            return self._hold(partition, partial(self.ask, partition, ask))
        answer = ask(active.shard)
        if active.unsettled is None:
            return answer
        return Pending(partial(self._when_settled, active.unsettled, answer))

    async def read_all(self, ask: Callable[[S], R]) -> Sequence[R]:
        """The answers of all partitions, except those that move to another broker meanwhile."""
        answers = [self.ask(partition, ask) for partition in self.partitions()]
        settled = []
        for answer in answers:
            with suppress(NotCoordinator):
                settled.append(await answer if isinstance(answer, Pending) else answer)
        return settled

    def touch(self, partition: int, touch: Callable[[S], R]) -> R | Pending[R]:
        """For in-memory state only: it does not wait for records to be committed."""
        active = self._partitions.get(partition)
        if not isinstance(active, _Active):
            return self._hold(partition, partial(self.touch, partition, touch))
        return touch(active.shard)

    def _hold(self, partition: int, carry_out: Callable[[], R | Pending[R]]) -> Pending[R]:
        loading = self._partitions.get(partition)
        if not isinstance(loading, _Loading):
            raise _not_coordinator()
        return loading.held.hold(carry_out)

    def expect(self, partition: int) -> None:
        """The partition will be loaded shortly. Until then its requests are held."""
        if partition not in self._partitions:
            self._partitions[partition] = _Loading(HeldRequests(self._clock))

    async def load(self, partition: int, leader_epoch: int = 0) -> None:
        """Become the coordinator of this partition: read its log, then handle requests."""
        earlier = self._partitions.get(partition)
        if isinstance(earlier, _Loading):
            loading = _Loading(earlier.held)
        else:
            self.unload(partition)
            loading = _Loading(HeldRequests(self._clock))
        self._partitions[partition] = loading
        shard = self._new_shard(leader_epoch)
        try:
            async for batch in self._log.read_all(partition):
                if self._partitions.get(partition) is not loading:
                    return
                _replay_logged(shard, batch)
        except BaseException:
            if self._partitions.get(partition) is loading:
                self.unload(partition)
            raise
        if self._partitions.get(partition) is loading:
            active = self._partitions[partition] = _Active(partition, shard)
            now = self._now()
            self._carry_out(active, shard.on_loaded(now), now)
            loading.held.resume_all()

    def unload(self, partition: int) -> None:
        """Stop being the coordinator. Waiting requests get NOT_COORDINATOR."""
        state = self._partitions.pop(partition, None)
        if isinstance(state, _Loading):
            state.held.refuse_all(_not_coordinator())
        elif state is not None:
            if state.timer is not None:
                state.timer.cancel()
            self._release(state.shard.on_unloaded())

    def _now(self) -> Now:
        return Now(self._clock.now_ms(), self._clock.monotonic_ms())

    def _carry_out(self, active: _Active[S], decision: Decision[Any], now: Now) -> "_Settled | KafkaError | None":
        """None: everything is committed. A future: it will be. An error: nothing was written."""
        outcome: _Settled | KafkaError | None = None
        if decision.records or decision.marker is not None:
            try:
                outcome = self._append(active, decision, now)
            except KafkaError as error:
                outcome = coordinator_error(error)
                logger.warning("partition %d of the coordinator: append failed: %s", active.partition, error)
                self._release(decision.releases)
                self._follow_up(active, decision, outcome)
                self._arm(active)
                return outcome
        self._release(decision.releases)
        if outcome is None:
            self._follow_up(active, decision, None)
        self._arm(active)
        return outcome

    def _append(self, active: _Active[S], decision: Decision[Any], now: Now) -> _Settled | None:
        shard = active.shard
        awaited: list[Awaitable[None]] = []
        producer, marker = decision.producer, decision.marker
        if marker is not None:
            committed = self._log.append_marker(active.partition, marker, now.wall_ms)
            shard.replay(TransactionEnd(marker.producer_id, marker.commit))
            if committed is not None:
                awaited.append(committed)
        for records, pairs in _batches(shard, decision):
            committed = self._log.append(active.partition, pairs, now.wall_ms, producer)
            for record in records:
                shard.replay(record if producer is None else InTransaction(producer.producer_id, record))
            if committed is not None:
                awaited.append(committed)
        if not awaited:
            return None
        settled: _Settled = asyncio.get_running_loop().create_future()
        active.unsettled = settled
        asyncio.gather(*awaited).add_done_callback(lambda done: self._settle(active, decision, settled, done))
        return settled

    def _settle(
        self, active: _Active[S], decision: Decision[Any], settled: _Settled, done: "asyncio.Future[Any]"
    ) -> None:
        error: KafkaError | None
        if self._partitions.get(active.partition) is not active:
            error = NotCoordinator("the coordinator has moved; find it again")
            if not done.cancelled():
                done.exception()
        else:
            error = _error_of(done)
            self._follow_up(active, decision, error)
        if active.unsettled is settled:
            active.unsettled = None
        settled.set_result(error)

    def _follow_up(self, active: _Active[S], decision: Decision[Any], error: KafkaError | None) -> None:
        if error is None:
            for message in decision.sends:
                assert self._send is not None
                self._send(active.partition, message)
            follow_up = decision.on_committed
            if follow_up is None:
                return
            now = self._now()
            then = follow_up(now)
        elif decision.on_failed is not None:
            now = self._now()
            then = decision.on_failed(error, now)
        else:
            return
        if then is not None:
            self._carry_out(active, then, now)

    async def _settled(self, outcome: _Settled | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            raise outcome
        # Several requests may wait for one append, so a cancelled request must not cancel the shared future.
        waiting: _Settled = asyncio.get_running_loop().create_future()

        def resume(error: KafkaError | None) -> None:
            if not waiting.done():
                waiting.set_result(error)

        late = coordinator_error(RequestTimedOut(f"not committed within {self._commit_timeout_ms} ms; try again"))
        outcome.add_done_callback(lambda done: resume(done.result()))
        timer = self._clock.call_later(self._commit_timeout_ms, lambda: resume(late))
        try:
            error = await waiting
        finally:
            timer.cancel()
        if error is not None:
            raise error

    def _release(self, releases: Sequence[Release]) -> None:
        for parked, outcome in releases:
            waiting = self._parked.pop(parked, None)
            if waiting is None or waiting.done():
                continue  # its client is gone
            if isinstance(outcome, KafkaError):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome)

    def _arm(self, active: _Active[S]) -> None:
        """One clock timer for all deadlines of a shard. If it fires too early, it only sets the next one."""
        if self._partitions.get(active.partition) is not active:
            return
        next_ms = active.shard.timers.next_ms()
        if next_ms is None or (active.timer is not None and active.timer_ms <= next_ms):
            return
        if active.timer is not None:
            active.timer.cancel()
        delay_ms = max(next_ms - self._clock.monotonic_ms(), 0)
        active.timer_ms = next_ms
        active.timer = self._clock.call_later(delay_ms, lambda: self._on_timer(active))

    def _on_timer(self, active: _Active[S]) -> None:
        active.timer = None
        try:
            while self._partitions.get(active.partition) is active:
                now = self._now()
                key = active.shard.timers.pop_due(now.monotonic_ms)
                if key is None:
                    break
                self._carry_out(active, active.shard.on_timer(key, now), now)
        finally:
            self._arm(active)  # also after an exception: the other deadlines still hold


def _not_coordinator() -> NotCoordinator:
    return NotCoordinator("this broker is not the coordinator; find the coordinator again")


def _error_of(done: "asyncio.Future[Any]") -> KafkaError | None:
    if done.cancelled():
        return NotCoordinator("the write was cancelled; find the coordinator again")
    error = done.exception()
    if error is None:
        return None
    if isinstance(error, KafkaError):
        return coordinator_error(error)
    logger.error("a coordinator's write failed", exc_info=error)
    return KafkaError(f"the coordinator's write failed: {error}")


def _replay_logged(shard: Shard, batch: LoggedBatch) -> None:
    producer_id = batch.producer_id
    if producer_id is not None and batch.commit is not None:
        shard.replay(TransactionEnd(producer_id, batch.commit))
        return
    for record in batch.records:
        known = None if record.key is None else shard.decode(record.key, record.value)
        if known is not None:
            shard.replay(known if producer_id is None else InTransaction(producer_id, known))


def _batches(shard: Shard, decision: Decision[Any]) -> Iterator[tuple[Sequence[Any], Sequence[KeyValue]]]:
    """Records, and how they are stored."""
    if decision.atomic:
        if decision.records:
            yield decision.records, shard.encode_all(decision.records)
        return
    records: list[Any] = []
    pairs: list[KeyValue] = []
    size = 0
    for record in decision.records:
        encoded = shard.encode_all((record,))
        encoded_size = sum(len(key) + len(value or b"") for key, value in encoded)
        if records and size + encoded_size > BATCH_BYTES_MAX:
            yield records, pairs
            records, pairs, size = [], [], 0
        records.append(record)
        pairs += encoded
        size += encoded_size
    if records:
        yield records, pairs
