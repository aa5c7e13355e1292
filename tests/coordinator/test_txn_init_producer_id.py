"""InitProducerId for transactional ids: epochs, fencing, repeated requests, epochs that run out."""

import pytest
from txn_core import T0, Core, error_of

from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.transaction import EPOCH_MAX, ProducerIdAndEpoch


def at_epoch(core: Core, epoch: int) -> ProducerIdAndEpoch:
    """The producer of x, at this epoch."""
    producer = core.init()._replace(producer_epoch=epoch)
    core.shard.transactions["x"] = core.shard.transactions["x"]._replace(producer_epoch=epoch)
    return producer


def test_the_first_producer_begins_at_0_and_each_after_it_one_higher() -> None:
    core = Core()
    assert [core.init() for _ in range(3)] == [(1000, 0), (1000, 1), (1000, 2)]
    assert core.init("other") == (1001, 0)


def test_new_producer_ids_are_waited_for() -> None:
    core = Core()
    core.ids.left = 0
    assert core.init() == (1000, 0)


@pytest.mark.parametrize(
    ("timeout_ms", "error"), [(0, "invalid"), (-5, "invalid"), (1, ""), (100, ""), (101, "invalid")]
)
def test_the_timeout_has_bounds(timeout_ms: int, error: str) -> None:
    core = Core(settings=TransactionSettings(timeout_ms_max=100))
    expected = "invalid_transaction_timeout" if error else "none"
    assert error_of(lambda: core.init(timeout_ms=timeout_ms)) == expected


def test_two_phase_commit_is_refused_unless_it_is_on() -> None:
    refused = error_of(lambda: Core().init(enable_two_phase_commit=True))
    assert refused == "transactional_id_authorization_failed"
    core = Core(settings=TransactionSettings(two_phase_commit=True))
    core.add(core.init(timeout_ms=-1, enable_two_phase_commit=True))
    core.elapse(10**8)
    assert core.state() == "Ongoing"
    assert error_of(lambda: core.init(keep_prepared=True)) == "unsupported_version"


@pytest.mark.parametrize("level", [0, 1, 2])
def test_an_open_transaction_is_aborted_first(level: int) -> None:
    core = Core(transaction_version=level)
    old = core.init()
    core.add(old, version=0)
    assert error_of(core.init) == "concurrent_transactions"
    assert core.state() == "PrepareAbort"
    assert error_of(core.init) == "concurrent_transactions"
    completion = core.complete()
    assert (completion.marker.commit, completion.partitions) == (False, {T0})
    assert completion.marker.producer_epoch == 1
    assert core.init() == (1000, 2)
    for attempt in (lambda: core.add(old), lambda: core.end(old, version=0), lambda: core.end(old, version=2)):
        assert error_of(attempt) == "producer_fenced"


def test_a_decided_transaction_is_completed_first() -> None:
    core = Core()
    producer = core.init()
    core.add(producer)
    core.end(producer)
    assert error_of(core.init) == "concurrent_transactions"
    core.complete()
    assert core.init() == (1000, 2)


def test_a_producer_that_says_its_epoch_gets_the_next() -> None:
    core = Core()
    first = core.init()
    second = core.init(expected=first)
    assert second == (1000, 1)
    assert core.init(expected=first) == second, "the answer got lost, so it asked again"
    assert core.init(expected=second) == (1000, 2)
    assert error_of(lambda: core.init(expected=first)) == "producer_fenced"


def test_a_producer_with_another_id_or_an_old_epoch_is_fenced() -> None:
    core = Core()
    first = core.init()
    core.init()
    assert error_of(lambda: core.init(expected=first)) == "producer_fenced"
    assert error_of(lambda: core.init(expected=ProducerIdAndEpoch(77, 1))) == "producer_fenced"


def test_an_id_that_was_forgotten_begins_anew() -> None:
    assert Core().init(expected=ProducerIdAndEpoch(77, 5)) == (1000, 0)


def test_where_epochs_run_out_a_new_id_begins() -> None:
    core = Core()
    last = at_epoch(core, EPOCH_MAX - 1)
    fresh = core.init(expected=last)
    assert fresh == (1001, 0)
    assert core.init(expected=last) == fresh, "the answer got lost, so it asked again"
    assert core.init() == (1001, 1)


def test_with_epochs_used_up_a_repeated_request_is_known_and_a_stranger_is_fenced() -> None:
    core = Core()
    before = at_epoch(core, EPOCH_MAX - 2)
    last = core.init(expected=before)
    assert last.producer_epoch == EPOCH_MAX - 1
    assert core.init(expected=before) == last
    assert error_of(lambda: core.init(expected=last._replace(producer_epoch=7))) == "producer_fenced"


@pytest.mark.parametrize("level", [0, 2])
def test_fencing_the_last_epoch_leads_to_a_new_id(level: int) -> None:
    core = Core(transaction_version=level)
    last = at_epoch(core, EPOCH_MAX - 1)
    core.add(last, version=0)
    assert error_of(core.init) == "concurrent_transactions"
    assert core.complete().marker.producer_epoch == EPOCH_MAX
    assert core.init() == ((1001, 1) if level == 2 else (1001, 0))


def test_what_is_stored_is_back_after_a_crash() -> None:
    core = Core()
    core.init("x", timeout_ms=5)
    core.crash()
    assert core.init("x") == (1000, 1)
