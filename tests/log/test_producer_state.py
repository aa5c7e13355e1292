"""Producer state: retries, gaps, epochs, wrapping sequences, expiry, snapshots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_fixtures import NOW_MS, fill, make_batch, open_log

from barnabas.log.append_result import AppendResult
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producer_snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot
from barnabas.log.producer_state import BatchMetadata, ProducerEntry
from barnabas.log.settings import LogSettings
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import InvalidProducerEpoch, OutOfOrderSequenceNumber

SEQUENCE_MAX = 2**31 - 1


def send(log: PartitionLog, sequence: int, count: int = 1, *, epoch: int = 0, timestamp: int = NOW_MS) -> AppendResult:
    batch = make_batch(count, producer_id=9, producer_epoch=epoch, base_sequence=sequence, timestamp=timestamp)
    return log.append([batch], leader_epoch=0, now_ms=NOW_MS)


def test_the_last_five_batches_are_recognised_and_older_ones_refused() -> None:
    log = open_log(SimulatedDisk())
    for n in range(7):
        assert not send(log, n * 2, 2).duplicate
    for n in range(2, 7):
        again = send(log, n * 2, 2)
        assert (again.duplicate, again.base_offset, again.last_offset) == (True, n * 2, n * 2 + 1)
    for sequence, count in ((0, 2), (2, 2), (12, 1), (13, 1), (15, 1), (100, 2)):
        with pytest.raises(OutOfOrderSequenceNumber):
            send(log, sequence, count)
    assert log.log_end_offset == 14


def test_an_unknown_producer_may_start_anywhere() -> None:
    log = open_log(SimulatedDisk())
    assert send(log, 500).base_offset == 0
    assert send(log, 501).base_offset == 1


def test_epochs() -> None:
    log = open_log(SimulatedDisk())
    send(log, 0, epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        send(log, 1, epoch=2)
    with pytest.raises(OutOfOrderSequenceNumber):
        send(log, 1, epoch=4)
    assert send(log, 0, epoch=4).base_offset == 1
    with pytest.raises(InvalidProducerEpoch):
        send(log, 0, epoch=3)


def test_sequences_wrap() -> None:
    log = open_log(SimulatedDisk())
    send(log, SEQUENCE_MAX - 1)
    assert send(log, SEQUENCE_MAX, 3).base_offset == 1
    assert send(log, SEQUENCE_MAX, 3).duplicate
    assert send(log, 2).base_offset == 4
    send(log, 0, epoch=1)
    log.producers.producers[9].batches[:] = [BatchMetadata(SEQUENCE_MAX, 5, 0, NOW_MS)]
    assert not send(log, 0, epoch=1).duplicate


def test_several_batches_in_one_append_follow_one_another() -> None:
    log = open_log(SimulatedDisk())
    good = [make_batch(2, producer_id=1, producer_epoch=0, base_sequence=n) for n in (0, 2, 4)]
    log.append(good, leader_epoch=0, now_ms=NOW_MS)
    assert log.log_end_offset == 6
    bad = [make_batch(2, producer_id=1, producer_epoch=0, base_sequence=n) for n in (6, 9)]
    with pytest.raises(OutOfOrderSequenceNumber):
        log.append(bad, leader_epoch=0, now_ms=NOW_MS)
    assert log.log_end_offset == 6


def test_a_silent_producer_is_forgotten() -> None:
    log = open_log(SimulatedDisk(), LogSettings(producer_id_expiration_ms=1000))
    send(log, 0)
    log.producers.expire(NOW_MS + 999, log.settings.producer_id_expiration_ms)
    with pytest.raises(OutOfOrderSequenceNumber):
        send(log, 77)
    for _ in range(2):
        log.producers.expire(NOW_MS + 1000, log.settings.producer_id_expiration_ms)
    assert send(log, 77).base_offset == 1


@pytest.mark.parametrize("clean", [True, False])
def test_a_producer_of_old_records_is_known_after_a_restart(clean: bool) -> None:
    """Its records have old timestamps, but the producer is active, and retries unanswered batches after the restart."""
    disk = SimulatedDisk()
    log = open_log(disk)
    last_year = NOW_MS - 366 * 24 * 3_600_000
    send(log, 0, timestamp=last_year)
    if clean:
        log.close(clean=True)
    else:
        disk.kill()
    log = open_log(disk, LogSettings(), clean=clean)
    assert send(log, 0, timestamp=last_year).duplicate


def test_a_producer_of_old_records_is_known_as_long_as_it_writes() -> None:
    log = open_log(SimulatedDisk(), LogSettings(producer_id_expiration_ms=1000))
    for sequence in range(5):
        send(log, sequence, timestamp=NOW_MS - 5000)
        log.producers.expire(NOW_MS, log.settings.producer_id_expiration_ms)
        assert send(log, sequence, timestamp=NOW_MS - 5000).duplicate
    log.producers.expire(NOW_MS, log.settings.producer_id_expiration_ms)
    assert not log.producers.producers


def test_producers_outlive_the_records_that_retention_took() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    send(log, 0, 3)
    fill(log, 60)
    log.delete_records(60)
    log.delete_old_segments(NOW_MS)
    log.close(clean=True)
    log = open_log(disk)
    assert log.log_start_offset > 3
    assert send(log, 0, 3).duplicate


def test_a_truncation_takes_the_producers_back() -> None:
    log = open_log(SimulatedDisk())
    for n in range(40):
        send(log, n)
    log.truncate_to(25, NOW_MS)
    assert send(log, 24).duplicate
    with pytest.raises(OutOfOrderSequenceNumber):
        send(log, 40)
    assert send(log, 25).base_offset == 25
    log.truncate_fully_and_start_at(100, NOW_MS)
    assert send(log, 7).base_offset == 100


@given(
    st.dictionaries(
        st.integers(0, 2**63 - 1),
        st.builds(
            ProducerEntry,
            st.integers(0, 2**15 - 1),
            st.lists(
                st.builds(
                    BatchMetadata,
                    st.integers(0, SEQUENCE_MAX),
                    st.integers(0, 2**62),
                    st.integers(0, 1000),
                    st.just(NOW_MS),
                ),
                max_size=1,
            ),
            st.just(NOW_MS),
            st.integers(-1, 5),
            st.integers(-1, 5),
        ),
        max_size=5,
    )
)
def test_snapshots_round_trip(producers: dict[int, ProducerEntry]) -> None:
    def plain(entries: dict[int, ProducerEntry]) -> dict[int, tuple[object, ...]]:
        return {
            producer_id: (e.epoch, e.batches, e.last_timestamp, e.coordinator_epoch, e.txn_first_offset)
            for producer_id, e in entries.items()
        }

    content = encode_snapshot(producers)
    assert plain(decode_snapshot(content)) == plain(producers)
    for cut in range(len(content)):
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(content[:cut])


def test_a_snapshot_field_by_field() -> None:
    """As Kafka's ProducerSnapshot.json lays it out: a producer at epoch 2, its last batch of three ends at offset 7."""
    entry = ProducerEntry(2, [BatchMetadata(5, 7, 2, 1_700_000_000_000)], 1_700_000_000_000)
    content = encode_snapshot({4711: entry})
    assert content[:2] == b"\x00\x01"
    assert content[6:].hex() == (
        "0000000100000000000012670002000000050000000000000007000000020000018bcfe56800ffffffffffffffffffffffff"
    )
