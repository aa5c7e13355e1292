"""Commit and abort, by the old protocol and by transaction.version 2."""

import pytest
from txn_core import T0, T1, Core, error_of

from barnabas.coordinator.txn.transaction import EPOCH_MAX, ProducerIdAndEpoch


def open_transaction(core: Core, version: int) -> ProducerIdAndEpoch:
    producer = core.init()
    core.add(producer, T0, T1, version=version)
    return producer


@pytest.mark.parametrize("commit", [True, False])
def test_the_old_protocol_keeps_the_epoch(commit: bool) -> None:
    core = Core()
    producer = open_transaction(core, 0)
    assert core.end(producer, commit=commit, version=0) == producer
    assert core.state() == ("PrepareCommit" if commit else "PrepareAbort")
    assert error_of(lambda: core.end(producer, commit=commit, version=0)) == "concurrent_transactions"
    completion = core.complete()
    assert completion.marker == (1000, 0, 0, commit, 0)
    assert completion.partitions == {T0, T1}
    assert core.state() == ("CompleteCommit" if commit else "CompleteAbort")
    assert core.end(producer, commit=commit, version=0) == producer, "the answer got lost, so it asked again"
    assert error_of(lambda: core.end(producer, commit=not commit, version=0)) == "invalid_txn_state"
    core.add(producer, version=0)
    assert core.shard.transactions["x"].partitions == {T0}


def test_the_old_protocol_has_nothing_to_end_where_nothing_began() -> None:
    core = Core()
    assert error_of(lambda: core.end(ProducerIdAndEpoch(1, 0), version=0)) == "invalid_producer_id_mapping"
    producer = core.init()
    for commit in (True, False):
        assert error_of(lambda: core.end(producer, commit=commit, version=0)) == "invalid_txn_state"  # noqa: B023  # at once
    assert error_of(lambda: core.end(producer._replace(producer_epoch=1), version=0)) == "producer_fenced"


@pytest.mark.parametrize("commit", [True, False])
def test_with_version_2_every_end_brings_the_next_epoch(commit: bool) -> None:
    core = Core()
    producer = open_transaction(core, 2)
    after = core.end(producer, commit=commit)
    assert after == (1000, 1)
    assert error_of(lambda: core.end(producer, commit=commit)) == "concurrent_transactions"
    assert core.complete().marker == (1000, 1, 0, commit, 2)
    assert core.end(producer, commit=commit) == after, "the answer got lost, so it asked again"
    assert error_of(lambda: core.end(producer, commit=not commit)) == "invalid_txn_state"
    core.add(after, T1)
    assert error_of(lambda: core.end(producer, commit=commit)) == "producer_fenced"
    assert core.ended(after) == (1000, 2)


def test_with_version_2_there_is_nothing_to_commit_where_nothing_began() -> None:
    core = Core()
    assert error_of(lambda: core.end(ProducerIdAndEpoch(1, 0))) == "invalid_producer_id_mapping"
    producer = core.init()
    assert error_of(lambda: core.end(producer)) == "invalid_txn_state"
    for _ in range(2):
        core.add(producer)
        producer = core.ended(producer)
        assert error_of(lambda: core.end(producer)) == "invalid_txn_state"  # noqa: B023  # at once


def test_with_version_2_an_abort_brings_the_next_epoch_even_where_nothing_began() -> None:
    core = Core()
    producer = core.init()
    assert core.end(producer, commit=False) == (1000, 1)
    assert core.complete().partitions == frozenset()
    assert core.end(producer, commit=False) == (1000, 1), "the answer got lost, so it asked again"
    core.add(ProducerIdAndEpoch(1000, 1))
    assert core.ended(ProducerIdAndEpoch(1000, 1)) == (1000, 2)
    assert core.ended(ProducerIdAndEpoch(1000, 2), commit=False) == (1000, 3)
    assert core.ended(ProducerIdAndEpoch(1000, 3), commit=False) == (1000, 4)


def test_with_version_2_strangers_are_fenced() -> None:
    core = Core()
    producer = open_transaction(core, 2)
    assert error_of(lambda: core.end(producer._replace(producer_epoch=3))) == "producer_fenced"
    assert error_of(lambda: core.end(producer._replace(producer_id=3))) == "invalid_producer_id_mapping"
    core.ended(producer)
    assert error_of(lambda: core.end(producer._replace(producer_epoch=4))) == "producer_fenced"


def test_with_version_2_a_new_id_follows_the_last_epoch() -> None:
    core = Core()
    producer = core.init()._replace(producer_epoch=EPOCH_MAX - 1)
    core.shard.transactions["x"] = core.shard.transactions["x"]._replace(producer_epoch=EPOCH_MAX - 1)
    core.add(producer)
    core.ids.left = 0
    after = core.end(producer)
    assert after == (1001, 0)
    assert error_of(lambda: core.add(after)) == "concurrent_transactions", "its id is not stored yet"
    core.crash()
    assert core.complete().marker == (1000, EPOCH_MAX, 1, True, 2)
    assert core.end(producer) == after, "the answer got lost, so it asked again"
    core.add(after)
    assert core.ended(after) == (1001, 1)


def test_markers_are_sent_again_after_a_crash_by_a_coordinator_of_a_higher_epoch() -> None:
    core = Core()
    core.end(open_transaction(core, 2), commit=False)
    core.crash()
    core.crash()
    [completion] = core.completions
    assert completion.marker == (1000, 1, 2, False, 2)
    assert completion.partitions == {T0, T1}
    core.complete()
    core.crash()
    assert core.completions == []


def test_markers_that_come_late_complete_nothing_twice() -> None:
    core = Core()
    producer = open_transaction(core, 2)
    after = core.end(producer)
    completion = core.completions[0]
    core.complete()
    core.add(after)
    core.completions = [completion]
    core.complete()
    assert core.state() == "Ongoing"
