"""Transactions in one partition: who may write, who is fenced, and what read_committed consumers see when."""

import pytest
from log_fixtures import DIRECTORY, NOW_MS, SMALL, append_marker, fill, make_batch, open_log, verified

from barnabas.log.append_result import AppendResult
from barnabas.log.index_file import CorruptIndex
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producer_state import GUARDS_MAX
from barnabas.log.settings import LogSettings
from barnabas.log.transaction_index import AbortedTransaction, TransactionIndex
from barnabas.log.transactions import VerificationGuard
from barnabas.records.batch import Batch, read_batch, split_batches
from barnabas.records.control import (
    ControlType,
    EndTransactionMarker,
    encode_control_key,
    marker_batch,
    read_marker,
)
from barnabas.records.record import Record, build_batch
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import (
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)


def transactional(sequence: int, count: int = 1, *, producer_id: int = 9, epoch: int = 0, value: bytes = b"v") -> Batch:
    return make_batch(
        count,
        value=value,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )


def send(
    log: PartitionLog,
    sequence: int,
    count: int = 1,
    *,
    producer_id: int = 9,
    epoch: int = 0,
    value: bytes = b"v",
    guard: VerificationGuard | None = None,
) -> AppendResult:
    """A transactional batch, verified first, and committed."""
    batch = transactional(sequence, count, producer_id=producer_id, epoch=epoch, value=value)
    guard = guard or verified(log, producer_id, epoch=epoch, sequence=sequence)
    appended = log.append([batch], leader_epoch=0, now_ms=NOW_MS, guard=guard)
    log.high_watermark = log.log_end_offset
    return appended


def end(log: PartitionLog, *, commit: bool, producer_id: int = 9, epoch: int = 0, version: int = 0) -> int:
    appended = append_marker(log, producer_id, commit=commit, epoch=epoch, transaction_version=version)
    log.high_watermark = log.log_end_offset
    return appended.base_offset


def begin_v2(log: PartitionLog, *, epoch: int, sequence: int = 0) -> VerificationGuard | None:
    return log.producers.begin_verification(9, epoch, sequence, supports_epoch_bump=True, now_ms=NOW_MS)


# Markers


def test_a_marker_byte_by_byte() -> None:
    """As Kafka 4.3 writes a COMMIT of producer 5, epoch 3, by coordinator epoch 7, at time 0."""
    batch = marker_batch(EndTransactionMarker(True, 7), producer_id=5, producer_epoch=3, now_ms=0)
    assert bytes(batch.data).hex() == (
        "0000000000000000" + "00000042" + "ffffffff" + "02" + f"{batch.header.crc:08x}" + "0030" + "00000000"
        "0000000000000000" + "0000000000000000" + "0000000000000005" + "0003" + "ffffffff" + "00000001"
        "20" + "00" + "00" + "00" + "08" + "00000001" + "0c" + "000000000007" + "00"
    )
    assert read_marker(batch) == EndTransactionMarker(commit=True, coordinator_epoch=7)


def test_markers_of_other_shapes_are_read_or_refused() -> None:
    abort = marker_batch(EndTransactionMarker(False, 2**31 - 1), producer_id=5, producer_epoch=3, now_ms=NOW_MS)
    assert read_marker(abort) == EndTransactionMarker(commit=False, coordinator_epoch=2**31 - 1)
    with pytest.raises(InvalidRecord):
        read_marker(abort._replace(data=abort.data[:-3]))
    leader_change = build_batch([Record(0, NOW_MS, encode_control_key(ControlType.LEADER_CHANGE), b"")], control=True)
    assert read_marker(read_batch(leader_change)) is None
    for key, value in (
        (b"\x00", b""),
        (encode_control_key(ControlType.ABORT), b"\x00\x00"),
        (b"\xff\xff\x00\x00", b""),
    ):
        with pytest.raises(InvalidRecord):
            read_marker(read_batch(build_batch([Record(0, NOW_MS, key, value)], control=True)))
    longer = build_batch(
        [Record(0, NOW_MS, encode_control_key(ControlType.COMMIT), bytes.fromhex("00010000000400ff"))], control=True
    )
    assert read_marker(read_batch(longer)) == EndTransactionMarker(commit=True, coordinator_epoch=4)


# Who may write


def test_an_unverified_batch_opens_no_transaction() -> None:
    log = open_log(SimulatedDisk())
    with pytest.raises(InvalidTxnState):
        log.append([transactional(0)], leader_epoch=0, now_ms=NOW_MS)
    guard = verified(log, 9)
    with pytest.raises(InvalidTxnState, match="known to include"):
        log.append([transactional(0)], leader_epoch=0, now_ms=NOW_MS, guard=verified(log, 10))
    assert log.append([transactional(0)], leader_epoch=0, now_ms=NOW_MS, guard=guard).base_offset == 0
    assert verified(log, 9) is None, "open now: the next batches need no question"
    assert log.append([transactional(1)], leader_epoch=0, now_ms=NOW_MS).base_offset == 1


def test_verification_can_be_switched_off() -> None:
    log = open_log(SimulatedDisk(), LogSettings(transaction_partition_verification=False))
    assert log.append([transactional(0)], leader_epoch=0, now_ms=NOW_MS).base_offset == 0


def test_a_marker_takes_the_guard_of_a_late_batch_away() -> None:
    """The transaction timed out and was aborted during its verification: a zombie can't open a new one."""
    log = open_log(SimulatedDisk())
    guard = verified(log, 9)
    end(log, commit=False)
    with pytest.raises(InvalidTxnState):
        send(log, 0, guard=guard)
    assert log.last_stable_offset == 1


def test_the_next_transactions_guard_outlives_the_marker_of_the_last_one() -> None:
    """With version 2 the client goes on in the next epoch before the marker of the last transaction was written."""
    log = open_log(SimulatedDisk())
    log.append([transactional(0)], leader_epoch=0, now_ms=NOW_MS, guard=begin_v2(log, epoch=0))
    guard = begin_v2(log, epoch=1)
    assert guard is not None
    end(log, commit=True, epoch=1, version=2)
    assert send(log, 0, epoch=1, guard=guard).base_offset == 2


def test_with_version_2_an_unknown_producer_begins_with_sequence_0() -> None:
    log = open_log(SimulatedDisk())
    with pytest.raises(OutOfOrderSequenceNumber):
        log.append([transactional(5)], leader_epoch=0, now_ms=NOW_MS, guard=begin_v2(log, epoch=0, sequence=5))
    log.append([transactional(0)], leader_epoch=0, now_ms=NOW_MS, guard=begin_v2(log, epoch=0))
    end(log, commit=True, epoch=1, version=2)
    with pytest.raises(OutOfOrderSequenceNumber):
        log.append([transactional(1, epoch=1)], leader_epoch=0, now_ms=NOW_MS, guard=begin_v2(log, epoch=1, sequence=1))


def test_no_batch_overtakes_one_that_waits_for_its_verification() -> None:
    log = open_log(SimulatedDisk())
    first, second = verified(log, 9, sequence=3), verified(log, 9, sequence=4)
    assert first is second
    with pytest.raises(OutOfOrderSequenceNumber):
        send(log, 4, guard=second)
    assert send(log, 3, guard=first).base_offset == 0
    assert send(log, 4, guard=second).base_offset == 1


def test_a_retry_is_recognised_even_when_its_transaction_has_ended() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0, 2)
    end(log, commit=True)
    again = log.append([transactional(0, 2)], leader_epoch=0, now_ms=NOW_MS)
    assert (again.duplicate, again.base_offset) == (True, 0)


def test_inside_a_transaction_nothing_else_is_written() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0)
    with pytest.raises(InvalidTxnState):
        log.append([make_batch(producer_id=9, producer_epoch=0, base_sequence=1)], leader_epoch=0, now_ms=NOW_MS)
    end(log, commit=True)
    plain = make_batch(producer_id=9, producer_epoch=0, base_sequence=1)
    assert log.append([plain], leader_epoch=0, now_ms=NOW_MS).base_offset == 2


def test_batches_of_a_coordinator_have_no_sequence_and_are_never_retries() -> None:
    log = open_log(SimulatedDisk())
    for n in range(3):
        assert send(log, -1).base_offset == n
    with pytest.raises(InvalidTxnState):
        log.append([transactional(-1, producer_id=10)], leader_epoch=0, now_ms=NOW_MS)


# Who is fenced


def test_an_older_epoch_is_fenced_wherever_it_comes_from() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0, epoch=3)
    end(log, commit=False, epoch=4)
    with pytest.raises(InvalidProducerEpoch):
        send(log, 1, epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        log.append([transactional(1, epoch=3)], leader_epoch=0, now_ms=NOW_MS)
    with pytest.raises(InvalidProducerEpoch):
        end(log, commit=True, epoch=3)
    with pytest.raises(OutOfOrderSequenceNumber):
        send(log, 1, epoch=4)
    assert send(log, 0, epoch=4).base_offset == 2


def test_an_older_coordinator_is_fenced() -> None:
    log = open_log(SimulatedDisk())
    append_marker(log, 9, commit=False, coordinator_epoch=5)
    with pytest.raises(TransactionCoordinatorFenced):
        append_marker(log, 9, commit=True, coordinator_epoch=4)
    append_marker(log, 9, commit=True, coordinator_epoch=5)
    append_marker(log, 9, commit=True, coordinator_epoch=6)


def test_a_late_marker_of_version_2_ends_no_later_transaction() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0)
    end(log, commit=True, epoch=1, version=2)
    assert end(log, commit=True, epoch=1, version=2) == 2, "a repetition changes nothing"
    send(log, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        end(log, commit=True, epoch=1, version=2)
    assert end(log, commit=True, epoch=1, version=1) == 4, "before version 2 it was that epoch's own"
    with pytest.raises(InvalidProducerEpoch):
        end(log, commit=True, epoch=0, version=2)


def test_the_last_epoch_ends_in_itself() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0, epoch=2**15 - 1)
    assert end(log, commit=False, epoch=2**15 - 1, version=2) == 1
    assert log.last_stable_offset == 2


# What readers see


def test_the_last_stable_offset_waits_for_the_oldest() -> None:
    log = open_log(SimulatedDisk())
    fill(log, 2)
    send(log, 0)
    send(log, 0, producer_id=10)
    fill(log, 1)
    assert log.last_stable_offset == 2
    end(log, commit=True)
    assert log.last_stable_offset == 3
    end(log, commit=False, producer_id=10)
    assert log.last_stable_offset == log.high_watermark == log.log_end_offset == 7


def test_an_end_counts_when_it_is_committed() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0)
    append_marker(log, 9, commit=True)
    assert (log.last_stable_offset, log.high_watermark) == (0, 1)
    log.high_watermark = 2
    assert log.last_stable_offset == 2


def test_it_never_passes_the_high_watermark_nor_stays_below_the_log_start() -> None:
    log = open_log(SimulatedDisk())
    log.append([transactional(0, 4)], leader_epoch=0, now_ms=NOW_MS, guard=verified(log, 9))
    assert log.last_stable_offset == log.high_watermark == 0
    log.high_watermark = 4
    assert log.delete_records(3) == log.last_stable_offset == 3
    marker = end(log, commit=False)
    assert log.last_stable_offset == 5
    assert log.aborted_transactions(3, 5) == [(9, 0, marker, 5)]


def test_what_was_aborted_is_told_to_who_reads_it() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0, 2)  # 0, 1
    send(log, 0, 2, producer_id=10)  # 2, 3
    end(log, commit=False)  # 4
    send(log, 2, producer_id=10)  # 5
    end(log, commit=False, producer_id=10)  # 6
    send(log, 2)  # 7
    end(log, commit=True)  # 8
    first, second = AbortedTransaction(9, 0, 4, 2), AbortedTransaction(10, 2, 6, 7)
    assert log.aborted_transactions(0, 9) == [first, second]
    assert log.aborted_transactions(0, 2) == [first], "the second begins where the reader ends"
    assert log.aborted_transactions(4, 5) == [first, second]
    assert log.aborted_transactions(5, 9) == [second]
    assert log.aborted_transactions(7, 9) == []


def test_an_abort_is_found_segments_later() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0)
    fill(log, 100)
    assert len(log.segments) > 4
    marker = end(log, commit=False)
    fill(log, 100)
    assert log.aborted_transactions(0, 3) == [(9, 0, marker, marker + 1)]
    assert log.aborted_transactions(marker + 1, log.log_end_offset) == []


def test_a_slice_knows_where_it_ends_about() -> None:
    log = open_log(SimulatedDisk())
    fill(log, 100)
    for offset in range(0, 95, 7):
        found = log.locate(offset, max_bytes=500, end_offset=log.log_end_offset)
        assert found is not None
        last = list(split_batches(found.read()))[-1].header.last_offset
        bound = found.upper_bound_offset
        assert bound is None or last < bound <= last + 6


# Over lives


@pytest.mark.parametrize("how", ["clean", "killed", "snapshots lost"])
def test_transactions_outlive_a_restart(how: str) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    send(log, 0, producer_id=10)
    fill(log, 40)
    send(log, 0, value=b"v" * 300)
    marker = end(log, commit=False)
    fill(log, 40)
    send(log, 0, producer_id=11)
    append_marker(log, 12, commit=False, coordinator_epoch=8)
    log.high_watermark = log.log_end_offset
    expected = log.aborted_transactions(0, log.log_end_offset)
    assert expected == [(9, 41, marker, 0)]
    if how == "clean":
        log.close(clean=True)
    else:
        disk.kill()
    if how == "snapshots lost":
        for name in disk.list_dir(DIRECTORY):
            if name.endswith(".snapshot"):
                disk.remove(f"{DIRECTORY}/{name}")
    log = open_log(disk, clean=how == "clean")
    log.high_watermark = log.log_end_offset
    assert log.last_stable_offset == 0
    assert log.aborted_transactions(0, log.log_end_offset) == expected
    with pytest.raises(TransactionCoordinatorFenced):
        append_marker(log, 12, commit=False, coordinator_epoch=7)
    end(log, commit=True, producer_id=10)
    assert log.last_stable_offset == log.log_end_offset - 3
    end(log, commit=False, producer_id=11)
    assert log.last_stable_offset == log.log_end_offset


@pytest.mark.parametrize("damage", [b"short", b"\x00\x07" + bytes(32), bytes(34)])
def test_a_damaged_index_is_made_anew(damage: bytes) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for n in range(30):
        send(log, n, value=b"v" * 100)
        end(log, commit=n % 3 == 0)
    expected = log.aborted_transactions(0, log.log_end_offset)
    assert len(expected) == 20
    log.close(clean=True)
    files = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".txnindex")]
    assert len(files) > 2
    for name in files:
        disk.replace_file(f"{DIRECTORY}/{name}", damage)
    log = open_log(disk)
    assert log.aborted_transactions(0, log.log_end_offset) == expected
    log.close(clean=True)
    assert open_log(disk).aborted_transactions(0, 10**6) == expected


def test_a_truncation_takes_ends_back() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0)
    fill(log, 30)
    marker = end(log, commit=False)
    assert log.aborted_transactions(0, 1)
    log.truncate_to(marker, NOW_MS)
    assert log.last_stable_offset == 0
    assert not log.aborted_transactions(0, 1)
    log.truncate_to(0, NOW_MS)
    assert log.last_stable_offset == 0 == log.log_end_offset


def test_retention_takes_the_index_with_the_segment() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    send(log, 0)
    end(log, commit=False)
    fill(log, 100)
    assert any(name.endswith(".txnindex") for name in disk.list_dir(DIRECTORY))
    log.delete_records(90)
    log.delete_old_segments(NOW_MS)
    for job in log.store.due_deletions(NOW_MS + SMALL.file_delete_delay_ms):
        job.run()
    assert not any(".txnindex" in name for name in disk.list_dir(DIRECTORY))
    assert not log.aborted_transactions(0, 1000)


def test_silent_producers_go_open_transactions_stay() -> None:
    log = open_log(SimulatedDisk(), LogSettings(producer_id_expiration_ms=1000))
    send(log, 0)
    verified(log, 10)
    for _ in range(2):
        log.producers.expire(NOW_MS + 1000, log.settings.producer_id_expiration_ms)
    assert list(log.producers.producers) == [9]
    assert not log.producers.guards


def test_made_up_producers_take_no_more_than_their_room() -> None:
    log = open_log(SimulatedDisk())
    for producer_id in range(GUARDS_MAX + 10):
        verified(log, producer_id)
    assert len(log.producers.guards) == GUARDS_MAX
    assert send(log, 0, producer_id=GUARDS_MAX).base_offset == 0


# The index's file


def test_an_index_entry_byte_by_byte() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/d")
    index = TransactionIndex()
    index.append(AbortedTransaction(1, 2, 3, 4))
    index.persist(disk, "/d/x", "/d/checksum")
    content = disk.read_file("/d/x")
    assert content.hex() == "0000" + "".join(f"{number:016x}" for number in (1, 2, 3, 4))
    assert TransactionIndex.load(content, 3).entries() == [(1, 2, 3, 4)]
    with pytest.raises(CorruptIndex):
        TransactionIndex.load(content, 4)
    with pytest.raises(CorruptIndex):
        TransactionIndex.load(content * 2, 0)
    with pytest.raises(ValueError, match="does not follow"):
        index.append(AbortedTransaction(1, 2, 3, 4))
