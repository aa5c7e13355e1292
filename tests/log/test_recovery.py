"""Opening a log after a crash, or with damaged files."""

import pytest
from log_fixtures import DIRECTORY, NOW_MS, SMALL, damages_of, fill, make_batch, offsets_of, open_log, read_all

from barnabas.log.batch_finder import DamagedRecords
from barnabas.log.file_names import file_name
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.records.batch import split_batches
from barnabas.testing.disk import SimulatedDisk

ONE_SEGMENT = LogSettings(index_interval_bytes=200, producer_id_expiration_ms=10**12)


def path_of(offset: int, kind: str) -> str:
    return f"{DIRECTORY}/{file_name(offset, kind)}"


def overwrite(disk: SimulatedDisk, path: str, position: int, data: bytes) -> None:
    disk.open(path).write_at(position, [data])


def filled(disk: SimulatedDisk, settings: LogSettings = SMALL, batches: int = 60) -> PartitionLog:
    log = open_log(disk, settings)
    fill(log, batches)
    return log


def closed(disk: SimulatedDisk, settings: LogSettings = SMALL, batches: int = 60) -> list[int]:
    """A log closed cleanly; returns the base offsets of its segments."""
    log = filled(disk, settings, batches)
    log.close(clean=True)
    return [segment.base_offset for segment in log.segments]


def test_a_torn_tail_is_cut_at_every_byte() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, ONE_SEGMENT)
    ends = [0]
    for n in range(4):
        log.append([make_batch(n + 1, value=b"v" * 20)], leader_epoch=n, now_ms=NOW_MS)
        ends.append(log.size)
    whole = disk.read_file(path_of(0, ".log"))
    for size in range(len(whole) + 1):
        torn = SimulatedDisk()
        torn.make_dirs(DIRECTORY)
        torn.replace_file(path_of(0, ".log"), whole[:size])
        log = open_log(torn, ONE_SEGMENT, clean=False)
        kept = sum(end <= size for end in ends) - 1
        assert log.size == torn.size(path_of(0, ".log")) == ends[kept]
        assert offsets_of(read_all(log)) == [(0, 0), (1, 2), (3, 5), (6, 9)][:kept]
        assert log.epochs.latest_epoch == kept - 1
        appended = log.append([make_batch()], leader_epoch=9, now_ms=NOW_MS)
        assert appended.base_offset == (0, 1, 3, 6, 10)[kept]


@pytest.mark.parametrize("garbage", [bytes(100), b"\xff" * 100, b"\x00" * 16 + b"\x02" + b"\x7f" * 100])
def test_garbage_after_the_last_batch_is_cut(garbage: bytes) -> None:
    disk = SimulatedDisk()
    log = filled(disk, ONE_SEGMENT, 5)
    overwrite(disk, path_of(0, ".log"), log.size, garbage)
    reopened = open_log(disk, ONE_SEGMENT, clean=False)
    assert (reopened.log_end_offset, reopened.size) == (5, log.size)


def test_a_bad_batch_in_the_unflushed_part_ends_the_log() -> None:
    disk = SimulatedDisk()
    log = filled(disk)
    second = log.segments[1]
    found = second.seek(second.base_offset + 3)
    assert found is not None
    overwrite(disk, second.file.path, found.position + 70, b"\xff\xff")
    disk.kill()
    reopened = open_log(disk, clean=False)
    assert reopened.log_end_offset == second.base_offset + 3
    assert len(reopened.segments) == 2
    assert len(read_all(reopened)) == second.base_offset + 3
    assert not [name for name in disk.list_dir(DIRECTORY) if name.startswith(f"{log.segments[2].base_offset:020d}")]
    fill(reopened, 30)
    assert damages_of(reopened) == []


def test_only_what_was_not_flushed_is_scanned() -> None:
    disk = SimulatedDisk()
    log = filled(disk)
    log.flush()
    first = log.segments[0]
    overwrite(disk, first.file.path, 70, b"\xff\xff")
    disk.kill()
    reopened = open_log(disk, clean=False, recovery_point=log.checkpointed_recovery_point)
    assert (reopened.log_end_offset, len(reopened.segments)) == (log.log_end_offset, len(log.segments))


def test_damage_in_flushed_data_is_reported_and_not_served() -> None:
    disk = SimulatedDisk()
    bases = closed(disk)
    log = open_log(disk)
    segment = log.segments[1]
    found = segment.seek(bases[1] + 2)
    assert found is not None
    overwrite(disk, segment.file.path, found.position + 70, b"\xff\xff")

    at = log.locate(bases[1] + 2, max_bytes=10**6, end_offset=log.log_end_offset)
    assert at is not None
    assert at.try_read() is None
    with pytest.raises(DamagedRecords, match="damaged"):
        at.read()
    with pytest.raises(DamagedRecords):  # from now on it is known
        log.locate(bases[1] + 2, max_bytes=10**6, end_offset=log.log_end_offset)
    before = log.locate(bases[1], max_bytes=10**6, end_offset=log.log_end_offset)
    assert before is not None
    assert offsets_of(list(split_batches(before.read()))) == [(bases[1],) * 2, (bases[1] + 1,) * 2]
    after = log.locate(bases[1] + 3, max_bytes=1, end_offset=log.log_end_offset)
    assert after is not None
    assert offsets_of(list(split_batches(after.read()))) == [(bases[1] + 3,) * 2]
    (damage,) = damages_of(log)
    assert (damage.position, damage.size) == (found.position, found.size)
    assert (damage.first_offset, damage.next_offset) == (bases[1] + 2, bases[1] + 3)


def test_a_broken_header_in_flushed_data_is_reported_and_not_served() -> None:
    disk = SimulatedDisk()
    bases = closed(disk)
    log = open_log(disk)
    segment = log.segments[1]
    found = segment.seek(bases[1] + 2)
    assert found is not None
    overwrite(disk, segment.file.path, found.position + 8, b"\xff\xff\xff\xff")
    (damage,) = damages_of(log)
    assert (damage.position, damage.size) == (found.position, found.size)
    with pytest.raises(
        DamagedRecords, match=rf"byte {found.position} .*next readable offset is {bases[1] + 3}.*log verify"
    ):
        log.locate(bases[1] + 2, max_bytes=10**6, end_offset=log.log_end_offset)
    after = log.locate(bases[1] + 3, max_bytes=1, end_offset=log.log_end_offset)
    assert after is not None
    assert offsets_of(list(split_batches(after.read()))) == [(bases[1] + 3,) * 2]


@pytest.mark.parametrize("kind", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "empty", "torn", "zeros", "backwards", "far", "random"])
@pytest.mark.parametrize("slot", [1, -1])
def test_missing_or_damaged_indexes_are_rebuilt(kind: str, damage: str, slot: int) -> None:
    disk = SimulatedDisk()
    base = closed(disk)[slot]
    path = path_of(base, kind)
    content = disk.read_file(path)
    size = 8 if kind == ".index" else 12
    if damage == "missing":
        disk.remove(path)
    else:
        replacement = {
            "empty": b"",
            "torn": content[:-1],
            "zeros": bytes(len(content) + size),
            "backwards": content[size:] + content[:size],
            "far": content + b"\x7f" * size,
            "random": bytes(range(size)) * 3,
        }[damage]
        disk.replace_file(path, replacement)
    log = open_log(disk)
    assert log.log_end_offset == 60
    assert len(read_all(log)) == 60
    for offset in range(60):
        found = log.locate(offset, max_bytes=1, end_offset=60)
        assert found is not None
        assert offsets_of(list(split_batches(found.read()))) == [(offset, offset)]
    if damage != "far":  # a time index may end a little early or late
        located = log.offset_for_timestamp(NOW_MS + 30)
        assert located is not None
        assert located.offset == 30


def test_an_index_that_lies_is_found_out_when_it_is_used() -> None:
    disk = SimulatedDisk()
    base = closed(disk)[1]
    path = path_of(base, ".index")
    content = bytearray(disk.read_file(path))
    content[7] ^= 0x11  # still increasing, but between two batches
    disk.replace_file(path, bytes(content))
    log = open_log(disk)
    assert len(read_all(log)) == 60
    assert disk.read_file(path) != bytes(content)


@pytest.mark.parametrize("damage", ["missing", "torn", "flipped", "all missing"])
@pytest.mark.parametrize("clean", [True, False])
def test_producers_survive_missing_and_damaged_snapshots(damage: str, clean: bool) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    batches = []
    for n in range(40):
        batch = make_batch(2, producer_id=n % 3, producer_epoch=0, base_sequence=n // 3 * 2, value=b"v" * 50)
        batches.append(batch)
        log.append([batch], leader_epoch=0, now_ms=NOW_MS)
    if clean:
        log.close(clean=True)
    else:
        disk.kill()
    snapshots = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".snapshot")]
    assert len(snapshots) >= 2
    for name in snapshots if damage == "all missing" else snapshots[-1:]:
        path = f"{DIRECTORY}/{name}"
        content = disk.read_file(path)
        if "missing" in damage:
            disk.remove(path)
        elif damage == "torn":
            disk.replace_file(path, content[:-3])
        else:
            disk.replace_file(path, content[:-3] + b"\xff" + content[-2:])
    reopened = open_log(disk, clean=clean)
    for n in (37, 38, 39):
        again = reopened.append([batches[n]], leader_epoch=0, now_ms=NOW_MS)
        assert (again.duplicate, again.base_offset) == (True, n * 2)
    assert reopened.log_end_offset == 80


@pytest.mark.parametrize("content", [None, b"", b"0\n", b"0\n2\n0 0\n", b"garbage", b"0\n2\n3 0\n1 5\n", b"0\n1\n0 0"])
def test_lost_leader_epochs_are_read_from_the_batches(content: bytes | None) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for epoch in (0, 0, 3, 3, 7):
        log.append([make_batch(2)], leader_epoch=epoch, now_ms=NOW_MS)
    log.close(clean=True)
    path = f"{DIRECTORY}/leader-epoch-checkpoint"
    assert disk.read_file(path) == b"0\n3\n0 0\n3 4\n7 8\n"
    if content is None:
        disk.remove(path)
    else:
        disk.replace_file(path, content)
    assert open_log(disk).epochs.entries == [(0, 0), (3, 4), (7, 8)]


def test_a_log_start_past_the_end_removes_nothing() -> None:
    """Either its end was lost in a crash, or the log start was written down wrongly. Retention takes it, if it may."""
    disk = SimulatedDisk()
    closed(disk)
    log = open_log(disk, log_start_offset=500)
    assert (log.log_start_offset, log.log_end_offset) == (500, 500)
    assert log.append([make_batch()], leader_epoch=0, now_ms=NOW_MS).base_offset == 500
    log.close(clean=True)
    assert len(read_all(open_log(disk))) == 61


def test_junk_after_the_end_of_a_log_that_was_closed_is_truncated() -> None:
    disk = SimulatedDisk()
    path = path_of(closed(disk)[-1], ".log")
    size = disk.size(path)
    overwrite(disk, path, size, b"junk")
    log = open_log(disk, recovery_point=60)
    assert (log.log_end_offset, disk.size(path)) == (60, size)
    log.append([make_batch()], leader_epoch=0, now_ms=NOW_MS)
    assert len(read_all(log)) == 61


def test_junk_is_kept_where_nobody_knows_that_it_is_junk() -> None:
    disk = SimulatedDisk()
    path = path_of(closed(disk)[-1], ".log")
    size = disk.size(path)
    overwrite(disk, path, size, b"junk")
    log = open_log(disk, recovery_point=None)
    assert (log.log_end_offset, disk.size(path)) == (61, size + 4)
    with pytest.raises(DamagedRecords):
        log.locate(60, max_bytes=1, end_offset=61)
    assert log.append([make_batch()], leader_epoch=0, now_ms=NOW_MS).base_offset == 61


def test_nothing_is_scanned_after_a_clean_close() -> None:
    disk = SimulatedDisk()
    bases = closed(disk)
    for base in bases[:-1]:
        disk.evict(path_of(base, ".log"))
    open_log(disk)
    for base in bases[:-1]:
        file = disk.open(path_of(base, ".log"))
        assert file.read_cached(0, 1) is None


def test_leftovers_are_removed_at_opening() -> None:
    disk = SimulatedDisk()
    bases = closed(disk)
    before = disk.list_dir(DIRECTORY)
    for name in (
        "00000000000000000777.log.deleted",
        "00000000000000000003.index.cleaned",
        "00000000000000000888.index",
    ):
        disk.replace_file(f"{DIRECTORY}/{name}", b"x")
    disk.replace_file(f"{DIRECTORY}/00000000000000000010-0000000001.checkpoint", b"raft's")
    log = open_log(disk)
    assert [segment.base_offset for segment in log.segments] == bases
    assert set(disk.list_dir(DIRECTORY)) == {*before, "00000000000000000010-0000000001.checkpoint"}
