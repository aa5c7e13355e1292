"""Transactions that take too long are aborted; unused transactional ids expire."""

import pytest
from txn_core import T0, Core, error_of

from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.timeouts import ABORTED_AT_ONCE_MAX, EXPIRED_AT_ONCE_MAX, REST_MS
from barnabas.coordinator.txn.transaction import EPOCH_MAX

DAY_MS = 24 * 60 * 60_000


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(level: int) -> None:
    core = Core(transaction_version=level)
    producer = core.init(timeout_ms=25_000)
    core.add(producer, T0, version=level)
    core.elapse(29_000)
    assert core.state() == "Ongoing", "it is looked at every 10 seconds"
    core.elapse(2_000)
    assert core.state() == "PrepareAbort"
    assert core.complete().marker.producer_epoch == 1
    assert error_of(lambda: core.add(producer)) == "producer_fenced"
    assert error_of(lambda: core.end(producer, version=0)) == "producer_fenced"
    assert core.init() == (1000, 2)


def test_with_version_2_a_late_commit_learns_that_there_is_nothing_to_commit() -> None:
    core = Core()
    producer = core.init(timeout_ms=5_000)
    core.add(producer)
    core.elapse(20_000)
    assert error_of(lambda: core.end(producer)) == "concurrent_transactions"
    core.complete()
    assert error_of(lambda: core.end(producer)) == "invalid_txn_state"
    assert core.end(producer, commit=False) == (1000, 1), "an abort is what it got already"


def test_a_transaction_that_ended_in_time_is_left_alone() -> None:
    core = Core()
    producer = core.init(timeout_ms=5_000)
    for _ in range(3):
        core.add(producer)
        producer = core.ended(producer)
        core.elapse(4_000)
    assert core.state() == "CompleteCommit"
    assert core.shard.transactions["x"].producer_epoch == 3


def test_time_goes_on_while_the_coordinator_is_away() -> None:
    core = Core()
    producer = core.init(timeout_ms=60_000)
    core.add(producer)
    core.crash()
    core.now_ms += 70_000
    core.crash()
    core.elapse(10_000)
    assert core.state() == "PrepareAbort"


def test_an_abort_that_needs_a_new_producer_id_waits_for_it() -> None:
    core = Core()
    producer = core.init(timeout_ms=1)._replace(producer_epoch=EPOCH_MAX - 1)
    core.shard.transactions["x"] = core.shard.transactions["x"]._replace(producer_epoch=EPOCH_MAX - 1)
    core.add(producer)
    core.ids.left = 0
    core.elapse(10_050)
    assert core.state() == "Ongoing"
    core.ids.left = 1
    core.elapse(100)
    core.complete()
    assert core.shard.transactions["x"].producer == (1001, 0)


def test_an_idle_broker_has_no_deadlines() -> None:
    core = Core()
    assert core.shard.timers.next_ms() is None
    producer = core.init()
    core.add(producer)
    core.ended(producer)
    core.elapse(20_000)
    assert len(core.shard.timers) == 1, "expiry only"
    core.elapse(30 * DAY_MS)
    assert core.shard.timers.next_ms() is None


def test_unused_ids_are_forgotten() -> None:
    core = Core(settings=TransactionSettings(transactional_id_expiration_ms=DAY_MS))
    core.init("idle")
    busy = core.init("x")
    core.add(busy)
    core.elapse(DAY_MS - 1)
    assert set(core.shard.transactions) == {"idle", "x"}
    core.complete()
    core.elapse(60 * 60_000)
    assert set(core.shard.transactions) == {"x"}, "it was aborted in between, and so in use"
    assert core.replayed().transactions.keys() == {"x"}
    core.elapse(DAY_MS)
    assert core.shard.transactions == {}
    assert core.replayed().transactions == {}


def test_an_open_transaction_keeps_its_id() -> None:
    core = Core(settings=TransactionSettings(transactional_id_expiration_ms=1000, timeout_check_interval_ms=10**12))
    core.add(core.init())
    core.elapse(10 * DAY_MS)
    assert core.state() == "Ongoing"


def test_many_are_aborted_some_at_a_time() -> None:
    core = Core()
    for number in range(50):
        core.add(core.init(str(number), timeout_ms=1), id=str(number))
    core.elapse(10_000)
    assert len(core.completions) == ABORTED_AT_ONCE_MAX
    core.elapse(REST_MS * 2)
    assert len(core.completions) == 50
    assert core.shard.ongoing == {}


def test_many_are_forgotten_some_at_a_time() -> None:
    core = Core()
    for number in range(EXPIRED_AT_ONCE_MAX + 5):
        core.init(str(number))
    core.now_ms = 8 * DAY_MS
    key = core.shard.timers.pop_due(core.now_ms)
    assert key is not None
    core.carry_out(core.shard.on_timer(key, core.now))
    assert len(core.shard.transactions) == 5
    core.elapse(REST_MS)
    assert core.shard.transactions == {}
