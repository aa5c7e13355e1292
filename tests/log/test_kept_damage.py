"""Damage below the recovery point: kept, told, refused batch by batch; everything else is there."""

import random
from collections.abc import Callable

import pytest
from log_fixtures import (
    DIRECTORY,
    NOW_MS,
    SMALL,
    append_marker,
    damages_of,
    fill,
    make_batch,
    offsets_of,
    open_log,
    read_all,
    verified,
)

from barnabas.log.batch_finder import DamagedRecords
from barnabas.log.batch_scan import Damage
from barnabas.log.file_names import file_name
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.records.batch import Batch, split_batches
from barnabas.testing.disk import SimulatedDisk

ONE_SEGMENT = LogSettings(index_interval_bytes=200, producer_id_expiration_ms=10**12)
BATCHES = 60
BATCH_RECORDS = 3
SYNCED = BATCHES * BATCH_RECORDS


def path_of(offset: int, kind: str = ".log") -> str:
    return f"{DIRECTORY}/{file_name(offset, kind)}"


def overwrite(disk: SimulatedDisk, path: str, position: int, data: bytes) -> None:
    disk.open(path).write_at(position, [data])


def killed(disk: SimulatedDisk, settings: LogSettings = ONE_SEGMENT, *, extra: int = 4) -> PartitionLog:
    """Batches that were synced, a few that were not, and a kill. The recovery point is SYNCED."""
    log = open_log(disk, settings)
    fill(log, BATCHES, count=BATCH_RECORDS)
    log.flush()
    assert log.flush_state.recovery_point == SYNCED
    fill(log, extra, count=BATCH_RECORDS)
    disk.kill()
    return log


def position_of(disk: SimulatedDisk, path: str, number: int) -> tuple[int, Batch]:
    """Position and bytes of the n-th batch of a file."""
    position = 0
    for count, batch in enumerate(split_batches(disk.read_file(path))):
        if count == number:
            return position, batch
        position += len(batch.data)
    raise AssertionError(f"{path} has fewer than {number} batches")


def readable(log: PartitionLog) -> tuple[list[tuple[int, int]], list[Damage]]:
    """What a reader gets from the log's start to its end, continuing after each damage at the next readable offset."""
    batches: list[tuple[int, int]] = []
    damages: list[Damage] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            found = log.locate(offset, max_bytes=300, end_offset=log.log_end_offset)
            if found is None:
                break
            whole = list(split_batches(found.read()))
        except DamagedRecords as error:
            damages.append(error.damage)
            following = error.damage.next_offset
            if following is None:
                following = min(base for base in (each.base_offset for each in log.segments) if base > offset)
            offset = following
            continue
        batches += offsets_of(whole)
        offset = whole[-1].header.next_offset if whole else offset
    return batches, damages


def expected(*missing: int, total: int = BATCHES + 4) -> list[tuple[int, int]]:
    return [
        (number * BATCH_RECORDS, (number + 1) * BATCH_RECORDS - 1) for number in range(total) if number not in missing
    ]


HARMS: dict[str, Callable[[int, Batch], tuple[int, bytes]]] = {
    "a flipped byte in the records": lambda at, batch: (at + 75, b"\xa5"),
    "the length is too large": lambda at, batch: (at + 8, b"\x7f"),
    "the length is too small": lambda at, batch: (at + 11, b"\x00"),
    "the length leads to another batch": lambda at, batch: (at + 8, (2 * len(batch.data) - 12).to_bytes(4, "big")),
    "the magic is another": lambda at, batch: (at + 16, b"\x01"),
    "the base offset is higher": lambda at, batch: (at, (batch.header.base_offset + 1).to_bytes(8, "big")),
    "the base offset is much higher": lambda at, batch: (at, b"\x00\x01"),
    "the base offset is lower": lambda at, batch: (at, (batch.header.base_offset - 1).to_bytes(8, "big")),
    "the base offset is negative": lambda at, batch: (at, b"\xff"),
    "the leader epoch is higher": lambda at, batch: (at + 12, b"\x01"),
    "the last offset is higher": lambda at, batch: (at + 26, b"\x7f"),
    "the last offset is lower": lambda at, batch: (at + 26, b"\x00"),
    "the header is gone": lambda at, batch: (at, bytes(61)),
    "all is zeros": lambda at, batch: (at, bytes(len(batch.data))),
    "all is noise": lambda at, batch: (at, random.Random(3).randbytes(len(batch.data))),
}


@pytest.mark.parametrize("harm", HARMS.keys())
@pytest.mark.parametrize("number", [0, 1, 30, BATCHES - 1])
@pytest.mark.parametrize("clean", [False, True])
def test_one_damaged_batch_is_refused_and_no_other(number: int, harm: str, clean: bool) -> None:
    if number == 0 and harm == "the base offset is lower":
        return  # there is nothing below 0
    disk = SimulatedDisk()
    log = killed(disk)
    if clean:
        log = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=SYNCED)
        log.close(clean=True)
    position, batch = position_of(disk, path_of(0), number)
    at, data = HARMS[harm](position, batch)
    overwrite(disk, path_of(0), at, data)

    point = log.log_end_offset if clean else SYNCED
    reopened = open_log(disk, ONE_SEGMENT, clean=clean, recovery_point=point)
    assert reopened.log_end_offset == log.log_end_offset
    assert disk.size(path_of(0)) == log.size, "something was cut off"
    batches, damages = readable(reopened)
    assert batches == expected(number)
    first_offset = number * BATCH_RECORDS
    assert [(each.position, each.size, each.first_offset, each.next_offset) for each in damages] == [
        (position, len(batch.data), first_offset, first_offset + BATCH_RECORDS)
    ]
    assert damages_of(reopened) == damages
    assert reopened.append([make_batch()], leader_epoch=0, now_ms=NOW_MS).base_offset == log.log_end_offset


def test_every_offset_of_a_damaged_batch_is_refused_and_says_what_to_do() -> None:
    disk = SimulatedDisk()
    killed(disk)
    position, batch = position_of(disk, path_of(0), 20)
    overwrite(disk, path_of(0), position, bytes(len(batch.data)))
    log = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=SYNCED)
    for offset in range(60, 63):
        with pytest.raises(DamagedRecords) as refused:
            log.locate(offset, max_bytes=1, end_offset=log.log_end_offset)
        message = str(refused.value)
        assert f"{path_of(0)} is damaged from byte {position} to {position + len(batch.data)}" in message
        assert "offsets 60 to 62 cannot be read, the next readable offset is 63" in message
        assert "barnabas log verify" in message


def test_several_damages_in_several_segments_are_all_kept(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk()
    log = killed(disk, SMALL)
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) > 4
    harmed = []
    for base in (bases[1], bases[3]):
        for number in (0, 2, 3):
            position, batch = position_of(disk, path_of(base), number)
            overwrite(disk, path_of(base), position + 70, b"\xff\xff")
            harmed.append(batch.header.base_offset // BATCH_RECORDS)
    reopened = open_log(disk, SMALL, clean=False, recovery_point=bases[4])
    batches, _ = readable(reopened)
    damages = damages_of(reopened)
    assert batches == expected(*harmed)
    # Where the recovery point is not known, all of it is scanned.
    disk.kill()
    caplog.clear()
    whole = open_log(disk, SMALL, clean=False, recovery_point=None, recovery_point_is_lost=True)
    assert readable(whole)[0] == batches
    assert damages_of(whole) == damages
    assert "barnabas log verify" in caplog.text


def test_only_what_lies_beyond_the_recovery_point_is_cut() -> None:
    disk = SimulatedDisk()
    log = killed(disk)
    below, _ = position_of(disk, path_of(0), 10)
    beyond, _ = position_of(disk, path_of(0), BATCHES + 1)
    overwrite(disk, path_of(0), below + 70, b"\xff\xff")
    overwrite(disk, path_of(0), beyond + 70, b"\xff\xff")
    reopened = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=SYNCED)
    assert readable(reopened)[0] == expected(10, total=BATCHES + 1)
    assert disk.size(path_of(0)) == beyond
    assert reopened.log_end_offset == SYNCED + BATCH_RECORDS
    assert log.log_end_offset > reopened.log_end_offset


@pytest.mark.parametrize("clean", [False, True])
def test_damage_at_the_end_of_what_was_synced_is_kept_and_the_log_continues_after_it(clean: bool) -> None:
    disk = SimulatedDisk()
    log = killed(disk, extra=0)
    if clean:
        log = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=SYNCED)
        log.close(clean=True)
    position, _ = position_of(disk, path_of(0), BATCHES - 2)
    overwrite(disk, path_of(0), position, random.Random(5).randbytes(log.size - position))
    reopened = open_log(disk, ONE_SEGMENT, clean=clean, recovery_point=SYNCED)
    assert (reopened.log_end_offset, len(reopened.segments)) == (SYNCED, 2)
    assert disk.size(path_of(0)) == log.size
    assert reopened.append([make_batch()], leader_epoch=0, now_ms=NOW_MS).base_offset == SYNCED
    reopened.high_watermark = reopened.log_end_offset
    for _ in range(2):
        batches, (damage,) = readable(reopened)
        assert batches == [*expected(total=BATCHES - 2), (SYNCED, SYNCED)]
        assert (damage.position, damage.first_offset, damage.next_offset) == (position, SYNCED - 6, None)
        reopened.close(clean=True)
        reopened = open_log(disk, ONE_SEGMENT, recovery_point=SYNCED + 1)
        assert reopened.log_end_offset == SYNCED + 1


def test_a_last_batch_with_a_wrong_offset_beyond_the_recovery_point_is_cut() -> None:
    disk = SimulatedDisk()
    killed(disk)
    position, _ = position_of(disk, path_of(0), BATCHES + 3)
    overwrite(disk, path_of(0), position, (10**6).to_bytes(8, "big"))
    log = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=SYNCED)
    assert log.log_end_offset == SYNCED + 3 * BATCH_RECORDS
    assert disk.size(path_of(0)) == position


def test_lookups_by_time_pass_over_damage() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, ONE_SEGMENT)
    for number in range(BATCHES):
        log.append([make_batch(BATCH_RECORDS, timestamp=NOW_MS + number * 1000)], leader_epoch=0, now_ms=NOW_MS)
    log.flush()
    disk.kill()
    for position, batch in [position_of(disk, path_of(0), number) for number in (20, 21, BATCHES - 1)]:
        overwrite(disk, path_of(0), position, b"\xff" * len(batch.data))
    reopened = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=SYNCED)
    assert [
        found.offset if (found := reopened.offset_for_timestamp(NOW_MS + number * 1000)) else None
        for number in (19, 20, 21, 22, 40, BATCHES - 1)
    ] == [57, 66, 66, 66, 120, None]
    newest = reopened.offset_of_max_timestamp()
    assert newest is not None
    assert newest.offset == SYNCED - BATCH_RECORDS - 1


def test_leader_epochs_are_read_around_damage() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, ONE_SEGMENT)
    for epoch in (0, 0, 3, 3, 7, 7):
        log.append([make_batch(2)], leader_epoch=epoch, now_ms=NOW_MS)
    log.flush()
    disk.kill()
    position, _ = position_of(disk, path_of(0), 2)
    overwrite(disk, path_of(0), position + 70, b"\xff")
    reopened = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=12)
    assert reopened.epochs.entries == [(0, 0), (3, 6), (7, 8)]


def producer_batch(number: int, producer_id: int = 5) -> Batch:
    return make_batch(2, producer_id=producer_id, producer_epoch=0, base_sequence=number * 2, value=b"v" * 50)


def test_a_producer_is_known_after_its_damaged_batch() -> None:
    """A producer snapshot was taken after it, before the damage."""
    disk = SimulatedDisk()
    log = open_log(disk, ONE_SEGMENT)
    for number in range(10):
        log.append([producer_batch(number)], leader_epoch=0, now_ms=NOW_MS)
    log.close(clean=True)
    log = open_log(disk, ONE_SEGMENT)
    fill(log, 3)
    disk.kill()
    for position, batch in [position_of(disk, path_of(0), number) for number in (8, 9)]:
        overwrite(disk, path_of(0), position, b"\xff" * len(batch.data))
    reopened = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=20)
    again = reopened.append([producer_batch(9)], leader_epoch=0, now_ms=NOW_MS)
    assert (again.duplicate, again.base_offset) == (True, 18)
    assert reopened.append([producer_batch(10)], leader_epoch=0, now_ms=NOW_MS).base_offset == 23


def stopped_and_killed(disk: SimulatedDisk, log: PartitionLog) -> int:
    """A clean stop, a start, a few more batches and a kill. Returns where the log ended at the stop."""
    log.high_watermark = log.log_end_offset
    log.close(clean=True)
    fill(open_log(disk, ONE_SEGMENT), 3)
    disk.kill()
    return log.log_end_offset


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_whose_marker_is_damaged_stays_ended_as_it_was(commit: bool) -> None:
    disk = SimulatedDisk()
    log = open_log(disk, ONE_SEGMENT)
    fill(log, 3)
    batch = make_batch(2, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    log.append([batch], leader_epoch=0, now_ms=NOW_MS, guard=verified(log, 5))
    append_marker(log, 5, commit=commit)
    closed_at = stopped_and_killed(disk, log)
    position, marker = position_of(disk, path_of(0), 4)
    assert marker.header.is_control
    overwrite(disk, path_of(0), position + 65, b"\xff")
    reopened = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=closed_at)
    reopened.high_watermark = reopened.log_end_offset
    assert reopened.last_stable_offset == reopened.log_end_offset
    assert [(each.producer_id, each.first_offset) for each in reopened.aborted_transactions(0, 100)] == (
        [] if commit else [(5, 3)]
    )


@pytest.mark.parametrize("hidden", ["commit marker", "first batch"])
def test_the_abort_behind_a_damaged_batch_reaches_back_to_where_its_transaction_began(hidden: str) -> None:
    """Not to the transaction before it, whose commit cannot be read; and not less far, if its beginning cannot."""
    disk = SimulatedDisk()
    log = open_log(disk, ONE_SEGMENT)

    def write(sequence: int) -> None:
        batch = make_batch(2, producer_id=5, producer_epoch=0, base_sequence=sequence, transactional=True)
        log.append([batch], leader_epoch=0, now_ms=NOW_MS, guard=verified(log, 5, sequence=sequence))

    write(0)
    append_marker(log, 5, commit=True)
    write(2)
    write(4)
    append_marker(log, 5, commit=False)
    closed_at = stopped_and_killed(disk, log)
    position, batch = position_of(disk, path_of(0), 1 if hidden == "commit marker" else 2)
    assert batch.header.is_control == (hidden == "commit marker")
    overwrite(disk, path_of(0), position + 65, b"\xff")
    reopened = open_log(disk, ONE_SEGMENT, clean=False, recovery_point=closed_at)
    reopened.high_watermark = reopened.log_end_offset
    assert [(each.producer_id, each.first_offset) for each in reopened.aborted_transactions(0, 100)] == [(5, 3)]


def test_compaction_leaves_a_damaged_log_alone_and_retention_takes_it() -> None:
    disk = SimulatedDisk()
    log = killed(disk, SMALL)
    bases = [segment.base_offset for segment in log.segments]
    position, _ = position_of(disk, path_of(bases[0]), 3)
    overwrite(disk, path_of(bases[0]), position + 70, b"\xff\xff")
    reopened = open_log(disk, SMALL, clean=False, recovery_point=0 + bases[-1])
    reopened.high_watermark = reopened.log_end_offset
    assert reopened.delete_records(bases[1]) == bases[1]
    assert reopened.delete_old_segments(NOW_MS) == 1
    assert len(read_all(reopened)) == BATCHES + 4 - bases[1] // BATCH_RECORDS


@pytest.mark.parametrize("clean", [False, True])
def test_a_transaction_index_that_lies_is_found_out(clean: bool) -> None:
    """One byte of it, any: with another producer or offset, aborted records would pass for committed ones."""
    disk = SimulatedDisk()
    log = open_log(disk, SMALL)
    for number in range(6):
        fill(log, 4)
        batch = make_batch(2, producer_id=number, producer_epoch=0, base_sequence=0, transactional=True)
        log.append([batch], leader_epoch=0, now_ms=NOW_MS, guard=verified(log, number))
        append_marker(log, number, commit=False)
    log.high_watermark = log.log_end_offset
    log.close(clean=True)
    aborted = log.aborted_transactions(0, log.log_end_offset)
    assert len(aborted) == 6
    paths = [f"{DIRECTORY}/{name}" for name in disk.list_dir(DIRECTORY) if name.endswith(".txnindex")]
    for path in paths:
        content = disk.read_file(path)
        for position in range(0, len(content), 3):
            overwrite(disk, path, position, bytes([content[position] ^ 1]))
            reopened = open_log(disk, SMALL, clean=clean, recovery_point=log.log_end_offset)
            reopened.high_watermark = reopened.log_end_offset
            assert reopened.aborted_transactions(0, 1000) == aborted
            reopened.close(clean=True)
            assert disk.read_file(path) == content


@pytest.mark.parametrize("content", [b"0\n2\n0 0\n9 4\n", b"0\n2\n0 0\n3 8\n", b"0\n1\n0 0\n", b"0\n2\n1 0\n3 4\n"])
def test_leader_epochs_that_lie_are_found_out(content: bytes) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for epoch in (0, 0, 3, 3, 3):
        log.append([make_batch(2)], leader_epoch=epoch, now_ms=NOW_MS)
    log.close(clean=True)
    path = f"{DIRECTORY}/leader-epoch-checkpoint"
    assert disk.read_file(path) == b"0\n2\n0 0\n3 4\n"
    disk.replace_file(path, content)
    assert open_log(disk, recovery_point=10).epochs.entries == [(0, 0), (3, 4)]


def test_leader_epochs_of_older_segments_are_checked_when_somebody_asks() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for epoch in (0, 3, 7):
        fill(log, 20, leader_epoch=epoch)
    log.close(clean=True)
    assert log.epochs.entries == [(0, 0), (3, 20), (7, 40)]
    for content in (b"0\n3\n0 0\n3 10\n7 40\n", b"0\n3\n0 0\n3 30\n7 40\n", b"0\n3\n0 0\n2 20\n7 40\n"):
        disk.replace_file(f"{DIRECTORY}/leader-epoch-checkpoint", content)
        reopened = open_log(disk, recovery_point=60)
        assert reopened.end_offset_for_epoch(0) == (0, 20)
        assert reopened.end_offset_for_epoch(3) == (3, 40)


def test_a_time_index_that_lies_deletes_nothing() -> None:
    """With a timestamp of long ago at its end, a segment would have been too old."""
    settings = LogSettings(segment_bytes=2000, index_interval_bytes=200, retention_ms=10_000)
    disk = SimulatedDisk()
    log = open_log(disk, settings)
    for number in range(60):
        log.append([make_batch(timestamp=NOW_MS + number, value=b"v" * 50)], leader_epoch=0, now_ms=NOW_MS)
    log.high_watermark = log.log_end_offset
    log.close(clean=True)
    base = log.segments[0].base_offset
    content = bytearray(disk.read_file(path_of(base, ".timeindex")))
    content[-12:-4] = (1000).to_bytes(8, "big") if len(content) == 12 else content[-24:-16]
    content[-5] += 1  # still increasing
    disk.replace_file(path_of(base, ".timeindex"), bytes(content))
    reopened = open_log(disk, settings, recovery_point=60)
    reopened.high_watermark = reopened.log_end_offset
    assert reopened.delete_old_segments(NOW_MS + 5000) == 0
    for number in (0, 5, 10, 15, 40):
        found = reopened.offset_for_timestamp(NOW_MS + number)
        assert found is not None
        assert found.offset == number
