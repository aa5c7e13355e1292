"""The number of open files is bounded; a reader of a file that is closed and reopened reads the same file."""

import errno
import os
import random
import threading
from pathlib import Path

import pytest

from barnabas.env import File, RealDisk
from barnabas.env.open_files import OPEN_FILES_MAX, default_files_max
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.model import TopicPartition
from barnabas.records.batch import read_batch, split_batches
from barnabas.records.record import Record, build_batch


def open_below(directory: Path) -> int:
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # the one that lists them
            continue
    return sum(link.startswith(f"{directory}/") for link in links)


def some_files(disk: RealDisk, directory: Path, count: int) -> list[File]:
    files = []
    for index in range(count):
        file = disk.open(f"{directory}/{index}", create=True)
        file.write_at(0, [f"file {index:04}".encode()])
        files.append(file)
    return files


def test_only_so_many_are_open_and_all_can_be_used(tmp_path: Path) -> None:
    files = some_files(RealDisk(open_files_max=4), tmp_path, 20)
    assert open_below(tmp_path) <= 4
    for index, file in enumerate(files):
        assert file.read_at(0, 100) == f"file {index:04}".encode()
        file.sync()
        assert file.size() == 9
    assert open_below(tmp_path) <= 4
    for file in files:
        file.close()
    assert open_below(tmp_path) == 0


def test_one_that_is_used_again_and_again_stays_open(tmp_path: Path) -> None:
    disk = RealDisk(open_files_max=4)
    favourite = disk.open(f"{tmp_path}/favourite", create=True)
    for file in some_files(disk, tmp_path, 50):
        favourite.size()
        file.size()
    (tmp_path / "favourite").unlink()
    assert favourite.size() == 0, "it was closed, and could not be opened again"


def test_a_closed_file_stays_closed(tmp_path: Path) -> None:
    file = RealDisk().open(f"{tmp_path}/file", create=True)
    file.close()
    file.close()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        file.read_at(0, 1)


def test_a_renamed_file_is_found_again(tmp_path: Path) -> None:
    disk = RealDisk(open_files_max=1)
    file = some_files(disk, tmp_path, 1)[0]
    disk.rename(f"{tmp_path}/0", f"{tmp_path}/0.deleted")
    file.moved_to(f"{tmp_path}/0.deleted")
    disk.open(f"{tmp_path}/other", create=True).size()
    assert file.read_at(0, 9) == b"file 0000"


def test_reads_during_closes_use_the_right_file(tmp_path: Path) -> None:
    disk = RealDisk(open_files_max=3)
    files = some_files(disk, tmp_path, 30)
    wrong: list[bytes] = []

    def read(seed: int) -> None:
        choice = random.Random(seed)
        for _ in range(2000):
            index = choice.randrange(len(files))
            data = files[index].read_at(0, 100)
            if data != f"file {index:04}".encode():
                wrong.append(data)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert open_below(tmp_path) <= 3


def test_a_log_of_many_segments_keeps_few_files_open(tmp_path: Path) -> None:
    disk = RealDisk(open_files_max=5)
    log = PartitionLog.open(
        disk, f"{tmp_path}/t-0", TopicPartition("t", 0), LogSettings(segment_bytes=200), now_ms=1000
    )
    for index in range(60):
        batch = build_batch([Record(timestamp=1000, value=b"%04d" % index * 20)])
        log.append([read_batch(batch)], leader_epoch=0, now_ms=1000)
    log.flush()
    assert len(log.segments) > 25
    for offset in random.Random(1).sample(range(60), 60):
        located = log.locate(offset, max_bytes=1, end_offset=60)
        assert located is not None
        (found,) = split_batches(located.read())
        assert found.header.base_offset == offset
        assert open_below(tmp_path) <= 5
    log.close(clean=True)
    assert open_below(tmp_path) == 0


def test_the_bound_follows_what_the_process_may_open() -> None:
    assert 16 <= default_files_max() <= OPEN_FILES_MAX
