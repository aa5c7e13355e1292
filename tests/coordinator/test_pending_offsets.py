"""Offsets committed in transactions wait for the marker, and so do fetches with require_stable."""

from typing import Any

import pytest
from group_core import Core, name_of
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.core.decision import Decision, InTransaction, Now, Parked, TransactionEnd
from barnabas.coordinator.core.ports import TransactionalProducer
from barnabas.coordinator.group.admin import decide_delete_groups
from barnabas.coordinator.group.offsets.delete import decide_delete_offsets, decide_topics_deleted
from barnabas.coordinator.group.offsets.expiry import decide_expiry
from barnabas.coordinator.group.offsets.fetch import fetch_offsets
from barnabas.coordinator.group.offsets.stored import CommittedOffset, OffsetRecord
from barnabas.coordinator.group.offsets.txn_commit import decide_txn_commit
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

LATER = Now(1_750_000_000_000 + 40 * 24 * 3_600_000, 40 * 24 * 3_600_000)


def txn_commit(
    core: Core,
    offsets: dict[tuple[str, int], int],
    *,
    producer_id: int = 7,
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    metadata: str = "",
) -> list[str]:
    request = TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=producer_id,
        producer_epoch=0,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        topics=tuple(
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=(
                    TxnOffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=offset, committed_metadata=metadata
                    ),
                ),
            )
            for (topic, partition), offset in offsets.items()
        ),
    )
    producer = TransactionalProducer(producer_id, 0)
    try:
        decision = decide_txn_commit(core.shard, request, producer, Now(0, 0))
    except KafkaError as error:
        return [error.code.name]
    assert decision.producer == producer
    for record in decision.records:
        core.shard.replay(InTransaction(producer_id, record))
    assert not isinstance(decision.response, KafkaError)
    assert not isinstance(decision.response, Parked)
    return [name_of(decision.response.get(place)) for place in offsets]


def end(core: Core, *, commit: bool, producer_id: int = 7) -> None:
    core.shard.replay(TransactionEnd(producer_id, commit))


def apply(core: Core, decision: Decision[Any]) -> list[Any]:
    for record in decision.records:
        core.shard.replay(record)
    return decision.records


def offset(core: Core, topic: str = "t", partition: int = 0, *, stable: bool = False) -> int | str:
    request = OffsetFetchRequestGroup(group_id="g", topics=None)
    for each in fetch_offsets(core.shard, request, require_stable=stable):
        for index, found in each.offsets:
            if (each.name, index) == (topic, partition):
                assert found is not None
                return name_of(found) if isinstance(found, KafkaError) else found.offset
    return -1


def test_offsets_count_when_the_transaction_is_committed() -> None:
    core = Core()
    core.commit_offsets({("t", 0): 5})
    assert txn_commit(core, {("t", 0): 9}) == ["none"]
    assert offset(core) == 5
    assert offset(core, stable=True) == "unstable_offset_commit"
    end(core, commit=True)
    assert offset(core) == offset(core, stable=True) == 9


def test_offsets_are_forgotten_when_it_is_aborted() -> None:
    core = Core()
    core.commit_offsets({("t", 0): 5})
    txn_commit(core, {("t", 0): 9})
    end(core, commit=False)
    assert offset(core, stable=True) == 5
    assert not core.shard.pending_offsets


def test_other_producers_markers_change_nothing() -> None:
    core = Core()
    txn_commit(core, {("t", 0): 9})
    end(core, commit=True, producer_id=8)
    assert offset(core) == -1
    end(core, commit=True)
    assert offset(core) == 9


def test_what_was_committed_later_holds() -> None:
    core = Core()
    txn_commit(core, {("t", 0): 9})
    core.commit_offsets({("t", 0): 3})
    assert offset(core, stable=True) == "unstable_offset_commit"
    end(core, commit=True)
    assert offset(core, stable=True) == 3


@pytest.mark.parametrize("first_to_end", [7, 8])
def test_of_two_transactions_the_later_commit_holds(first_to_end: int) -> None:
    core = Core()
    txn_commit(core, {("t", 0): 70}, producer_id=7)
    txn_commit(core, {("t", 0): 80}, producer_id=8)
    end(core, commit=True, producer_id=first_to_end)
    assert offset(core, stable=True) == "unstable_offset_commit"
    end(core, commit=True, producer_id=15 - first_to_end)
    assert offset(core, stable=True) == 80


def test_a_member_commits_in_its_generation_and_others_do_not() -> None:
    core = Core()
    [member] = core.stable()
    assert txn_commit(core, {("t", 0): 1}, generation=1, member=member) == ["none"]
    assert txn_commit(core, {("t", 0): 1}, generation=0, member=member) == ["illegal_generation"]
    assert txn_commit(core, {("t", 0): 1}, generation=1, member="other") == ["unknown_member_id"]
    assert txn_commit(core, {("t", 0): 1}, generation=1, member=member, instance="i") == ["unknown_member_id"]
    assert txn_commit(core, {("t", 0): 1}) == ["none"], "an old client cannot say who it is"


def test_without_a_group_only_a_client_without_a_generation_commits() -> None:
    core = Core()
    assert txn_commit(core, {("t", 0): 1}, generation=3, member="m") == ["illegal_generation"]
    assert txn_commit(core, {("t", 0): 1}) == ["none"]
    assert "g" in core.shard.groups


def test_metadata_has_a_bound() -> None:
    core = Core()
    assert txn_commit(core, {("t", 0): 1}, metadata="m" * 5_000) == ["offset_metadata_too_large"]
    assert not core.shard.pending_offsets


def test_a_group_with_pending_offsets_does_not_expire() -> None:
    core = Core()
    core.commit_offsets({("t", 0): 5, ("t", 1): 5})
    txn_commit(core, {("t", 0): 9})
    assert apply(core, decide_expiry(core.shard, LATER)) == [OffsetRecord("g", "t", 1, None)]
    assert "g" in core.shard.groups
    end(core, commit=False)
    apply(core, decide_expiry(core.shard, LATER))
    assert "g" not in core.shard.groups


def test_what_is_deleted_is_not_brought_back_by_a_commit() -> None:
    core = Core()
    txn_commit(core, {("t", 0): 9, ("u", 0): 9, ("v", 0): 9})
    places = (OffsetDeleteRequestPartition(partition_index=0),)
    request = OffsetDeleteRequest(group_id="g", topics=(OffsetDeleteRequestTopic(name="t", partitions=places),))
    apply(core, decide_delete_offsets(core.shard, request))
    apply(core, decide_topics_deleted(core.shard, {"u"}))
    end(core, commit=True)
    assert [offset(core, topic) for topic in "tuv"] == [-1, -1, 9]


def test_a_deleted_group_takes_its_pending_offsets_along() -> None:
    core = Core()
    txn_commit(core, {("t", 0): 9})
    apply(core, decide_delete_groups(core.shard, ["g"]))
    assert "g" not in core.shard.groups
    end(core, commit=True)
    assert offset(core) == -1
    assert not core.shard.pending_offsets


step = st.one_of(
    st.tuples(st.just("plain"), st.integers(0, 1), st.none()),
    st.tuples(st.just("delete"), st.integers(0, 1), st.none()),
    st.tuples(st.just("txn"), st.integers(0, 1), st.integers(0, 2)),
    st.tuples(st.just("commit"), st.none(), st.integers(0, 2)),
    st.tuples(st.just("abort"), st.none(), st.integers(0, 2)),
)


@given(st.lists(step, max_size=20))
def test_the_last_record_that_counts_is_the_offset(steps: list[tuple[str, int | None, int | None]]) -> None:
    """Compared with a model that keeps the whole log and reads it backwards."""
    core = Core()
    log: list[tuple[str, int | None, int | None]] = []
    for number, (kind, partition, producer) in enumerate(steps):
        log.append((kind, partition, producer))
        value = None if kind == "delete" else CommittedOffset(number, -1, "", 0)
        if kind in ("plain", "delete"):
            assert partition is not None
            core.shard.replay(OffsetRecord("g", "t", partition, value))
        elif kind == "txn":
            assert producer is not None
            assert partition is not None
            core.shard.replay(InTransaction(producer, OffsetRecord("g", "t", partition, value)))
        else:
            assert producer is not None
            core.shard.replay(TransactionEnd(producer, kind == "commit"))
        for place in range(2):
            assert offset(core, "t", place) == _expected(log, place)
            open_now = any(_outcome(log, at) is None for at, each in enumerate(log) if _is_pending(log, at, place))
            assert core.shard.pending_offsets.is_unstable("g", "t", place) == open_now


def _is_pending(log: list[tuple[str, int | None, int | None]], at: int, place: int) -> bool:
    """A transactional commit to the place that no deletion has undone."""
    if log[at][:2] != ("txn", place):
        return False
    return ("delete", place, None) not in log[at:]


def _outcome(log: list[tuple[str, int | None, int | None]], at: int) -> str | None:
    producer = log[at][2]
    return next((kind for kind, _, who in log[at:] if kind in ("commit", "abort") and who == producer), None)


def _expected(log: list[tuple[str, int | None, int | None]], place: int) -> int:
    for at in range(len(log) - 1, -1, -1):
        kind, partition, _ = log[at]
        if partition != place:
            continue
        if kind == "delete":
            return -1
        if kind == "plain" or (kind == "txn" and _outcome(log, at) == "commit"):
            return at
    return -1
