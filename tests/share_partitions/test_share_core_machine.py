"""The share-partition's core against a plain model: any order of acquiring, acknowledging, timing out, losing the head
of the log and crashing.

The model has one entry per offset. It knows which member holds a record and what was persisted; so it detects a record
with two holders, one that is delivered again after it was accepted, a lost one, and a delivery too many.
"""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.model.share import DeliveryState, StateBatch, overlay, pruned
from barnabas.share_partitions.core.delivery import SharePartitionCore, Transition
from barnabas.share_partitions.core.terms import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    OffsetRange,
    ShareLimits,
)
from barnabas.wire.errors import InvalidRecordState, InvalidRequest
from property_effort import examples

MEMBERS = ["a", "b", "c"]
LIMITS = ShareLimits(delivery_count_limit=4, record_locks_max=40, lock_duration_ms=100)


@dataclass
class Persister:
    start_offset: int
    batches: list[StateBatch] = field(default_factory=list)

    def write(self, start_offset: int, batches: list[StateBatch]) -> None:
        self.start_offset = start_offset
        self.batches = pruned(self.batches, start_offset)
        overlay(self.batches, pruned(batches, start_offset))


@dataclass
class Modelled:
    """One record."""

    eligible: bool
    count: int = 0
    persisted_count: int = 0
    holder: str | None = None
    deadline_ms: int = 0
    done: bool = False
    """Accepted, rejected, or past the delivery limit, and persisted as such."""


class ShareCoreMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.persister = Persister(0)
        self.core = SharePartitionCore(0)
        self.log: list[OffsetRange] = []
        self.log_start = 0
        self.log_end = 0
        self.model: dict[int, Modelled] = {}
        self.under_way: list[Transition] = []
        self.now_ms = 0

    # --- the log

    @rule(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), aborted=st.booleans(), gap=st.integers(0, 2))
    def produce(self, sizes: list[int], aborted: bool, gap: int) -> None:
        self.log_end += gap  # compacted away before anybody looked
        for size in sizes:
            self.log.append(OffsetRange(self.log_end, self.log_end + size - 1))
            for offset in range(self.log_end, self.log_end + size):
                self.model[offset] = Modelled(eligible=not aborted)
            self.log_end += size

    @rule(ahead=st.integers(1, 12))
    def lose_the_head(self, ahead: int) -> None:
        self.log_start = min(self.log_start + ahead, self.log_end)
        self.log = [batch for batch in self.log if batch.last >= self.log_start]
        self.core.on_log_start(self.log_start)
        for offset in [offset for offset in self.model if offset < self.log_start]:
            del self.model[offset]

    # --- members

    @rule(member=st.sampled_from(MEMBERS), records_max=st.integers(1, 15), exact=st.booleans(), size=st.integers(1, 9))
    def acquire(self, member: str, records_max: int, exact: bool, size: int) -> None:
        if self.core.can_acquire(LIMITS):
            self._acquire(member, records_max, exact, size)

    def _acquire(self, member: str, records_max: int, exact: bool, size: int) -> int:
        fetch_offset = self.core.next_fetch_offset()
        data = [batch for batch in self.log if batch.last >= fetch_offset]
        acquired = self.core.acquire(
            member,
            data,
            fetch_offset=fetch_offset,
            records_max=records_max,
            batch_size=size,
            exact=exact,
            ineligible=[batch for batch in data if not self.model[batch.last].eligible],
            limits=LIMITS,
            now_ms=self.now_ms,
        )
        total = 0
        for first, last, delivery_count in acquired:
            for offset in range(first, last + 1):
                record = self.model.get(offset)
                total += 1
                if record is None:
                    continue  # in a gap: there is no such record
                assert record.eligible, f"{offset} is not to be seen"
                assert record.holder is None, f"{offset} is {record.holder}'s"
                assert not record.done, f"{offset} was done"
                record.holder, record.count = member, record.count + 1
                record.deadline_ms = self.now_ms + LIMITS.lock_duration_ms
                assert record.count == delivery_count <= LIMITS.delivery_count_limit
        assert not exact or total <= records_max
        return total

    @rule(
        member=st.sampled_from(MEMBERS),
        first=st.integers(0, 60),
        kinds=st.lists(st.sampled_from([GAP, ACCEPT, RELEASE, REJECT, RENEW]), min_size=1, max_size=12),
    )
    def acknowledge_anything(self, member: str, first: int, kinds: list[int]) -> None:
        self._acknowledge(member, first + self.core.start_offset - 5, kinds)

    @precondition(lambda self: any(span.member is not None for span in self.core.spans))
    @rule(
        member=st.sampled_from([None, None, *MEMBERS]),
        kinds=st.lists(st.sampled_from([GAP, ACCEPT, RELEASE, REJECT, RENEW]), min_size=1, max_size=12),
        data=st.data(),
    )
    def acknowledge_what_is_held(self, member: str | None, kinds: list[int], data: st.DataObject) -> None:
        span = data.draw(st.sampled_from([span for span in self.core.spans if span.member is not None]))
        first = data.draw(st.integers(span.first, span.last))
        self._acknowledge(member or span.member or "", first, kinds[: span.last - first + 1])

    def _acknowledge(self, member: str, first: int, kinds: list[int]) -> None:
        asked = dict(enumerate(kinds, first))
        known = {offset: kind for offset, kind in asked.items() if offset in self.model}
        try:
            transition = self.core.acknowledge(
                member, [Acknowledgement(first, first + len(kinds) - 1, kinds)], LIMITS, self.now_ms
            )
        except (InvalidRecordState, InvalidRequest):
            return
        for offset, kind in known.items():
            record = self.model[offset]
            if offset < self.core.start_offset:
                continue
            assert record.holder == member, f"{offset} is not {member}'s"
            if kind == RENEW:
                record.deadline_ms = self.now_ms + LIMITS.lock_duration_ms
        self.under_way.append(transition)

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        self.under_way.append(self.core.release(member, LIMITS))

    # --- the persister

    @precondition(lambda self: self.under_way)
    @rule(fails=st.booleans(), data=st.data())
    def persist(self, fails: bool, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.under_way) - 1))
        transition = self.under_way.pop(index)
        if fails:
            self.core.roll_back(transition)
        else:
            self.persister.write(self.core.start_offset, transition.batches)
            self.core.commit(transition)
            self._finish(transition.batches)

    def _finish(self, batches: list[StateBatch]) -> None:
        for first, last, state, count in batches:
            for offset in range(first, last + 1):
                record = self.model.get(offset)
                if record is not None:
                    record.holder = None
                    record.done = record.done or DeliveryState(state).is_final
                    record.persisted_count = count

    @rule(passes_ms=st.integers(1, 120), is_lost=st.booleans())
    def time_passes(self, passes_ms: int, is_lost: bool) -> None:
        self.now_ms += passes_ms
        expired = self.core.expire(LIMITS, self.now_ms)
        for first, last, state, count in expired:
            for offset in range(first, last + 1):
                record = self.model.get(offset)
                if record is not None:
                    assert record.holder is not None
                    assert record.deadline_ms <= self.now_ms
                    record.holder = None
                    record.done = DeliveryState(state).is_final
                    if not is_lost:
                        record.persisted_count = count
        if expired and not is_lost:
            self.persister.write(self.core.start_offset, expired)

    @rule()
    def crash(self) -> None:
        self.under_way.clear()
        final = {
            offset
            for first, last, state, _ in self.persister.batches
            if DeliveryState(state).is_final
            for offset in range(first, last + 1)
        }
        for offset, record in self.model.items():
            record.holder, record.count = None, record.persisted_count
            was_done = record.done
            record.done = offset in final or offset < self.persister.start_offset
            assert record.done or not was_done or record.persisted_count < LIMITS.delivery_count_limit
        self.core = SharePartitionCore(self.persister.start_offset, self.persister.batches)
        self.core.on_log_start(self.log_start)

    # --- always

    @invariant()
    def spans_are_the_window(self) -> None:
        position = self.core.start_offset
        for span in self.core.spans:
            assert span.first == position
            assert span.last >= span.first
            position = span.last + 1
        assert position == self.core.end_offset
        complete = sum(len(span) for span in self.core.spans if span.will_be_final)
        assert complete == self.core.delivery_complete_count

    @invariant()
    def the_core_and_the_model_agree(self) -> None:
        for span in self.core.spans:
            for offset in range(span.first, span.last + 1):
                record = self.model.get(offset)
                if record is None:
                    continue
                assert record.holder == span.member, f"{offset}: {span}"
                if record.eligible:
                    assert record.done == span.is_final, f"{offset}: {span}"
        for offset, record in self.model.items():
            if offset < self.core.start_offset:
                assert record.done or not record.eligible, f"{offset} was forgotten"

    def teardown(self) -> None:
        """Nothing is lost: a member that keeps accepting gets every remaining record."""
        if not hasattr(self, "core"):
            return
        for transition in self.under_way:
            self.core.roll_back(transition)
        self.now_ms += 1000
        self._finish(self.core.expire(LIMITS, self.now_ms))
        while self.core.next_fetch_offset() < self.log_end and self.log:
            before = (self.core.start_offset, self.core.end_offset, self.core.next_fetch_offset())
            self._acquire("a", 100, False, 100)
            transition = self.core.acknowledge(
                "a",
                [Acknowledgement(span.first, span.last, [ACCEPT]) for span in self.core.spans if span.member == "a"],
                LIMITS,
                self.now_ms,
            )
            self.core.commit(transition)
            self._finish(transition.batches)
            if before == (self.core.start_offset, self.core.end_offset, self.core.next_fetch_offset()):
                break
        assert all(record.done or not record.eligible for record in self.model.values())


TestShareCore = ShareCoreMachine.TestCase
TestShareCore.settings = settings(max_examples=examples(75), stateful_step_count=40, deadline=None)
