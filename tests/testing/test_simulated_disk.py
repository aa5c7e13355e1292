"""The simulated disk behaves like a real one, and loses exactly the unsynced data in a crash."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.env import Disk, RealDisk
from barnabas.testing.disk import Fault, PowerCut, SimulatedDisk


def _new_file(disk: SimulatedDisk, path: str, synced: bytes) -> None:
    disk.make_dirs(os.path.dirname(path))
    file = disk.open(path, create=True)
    file.write_at(0, [synced])
    file.sync()
    file.close()
    disk.sync_dir(os.path.dirname(path))


def test_a_crash_takes_what_was_not_synced() -> None:
    disk = SimulatedDisk()
    _new_file(disk, "/data/a", b"kept")
    file = disk.open("/data/a")
    file.write_at(4, [b" lost"])
    assert file.read_at(0, 100) == b"kept lost"
    disk.crash()
    assert disk.read_file("/data/a") == b"kept"


def test_a_killed_process_loses_nothing_but_its_open_files() -> None:
    disk = SimulatedDisk()
    _new_file(disk, "/data/a", b"one")
    file = disk.open("/data/a")
    file.write_at(3, [b" two"])
    disk.kill()
    assert disk.read_file("/data/a") == b"one two"
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.read_at(0, 1)


def test_a_synced_file_without_its_directory_synced_has_no_name() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    disk.sync_dir("/data")
    file = disk.open("/data/a", create=True)
    file.write_at(0, [b"x"])
    file.sync()
    disk.crash()
    assert disk.list_dir("/data") == []


def test_a_rename_is_undone_by_a_crash_and_kept_after_sync_dir() -> None:
    disk = SimulatedDisk()
    _new_file(disk, "/data/a", b"x")
    disk.rename("/data/a", "/data/b")
    disk.crash()
    assert disk.list_dir("/data") == ["a"]
    disk.rename("/data/a", "/data/b")
    disk.sync_dir("/data")
    disk.crash()
    assert disk.list_dir("/data") == ["b"]


def test_removal_is_undone_by_a_crash_until_the_directory_is_synced() -> None:
    disk = SimulatedDisk()
    _new_file(disk, "/data/a", b"x")
    disk.remove("/data/a")
    assert not disk.exists("/data/a")
    disk.crash()
    assert disk.read_file("/data/a") == b"x"


def test_replace_file_is_whole_before_and_after_every_power_cut() -> None:
    for step in range(1, 12):
        disk = SimulatedDisk()
        _new_file(disk, "/data/checkpoint", b"old")
        disk.power_cut_at = disk.operations + step
        finished = False
        with suppress(PowerCut):
            disk.replace_file("/data/checkpoint", b"new content")
            finished = True
        disk.crash(Random(step))
        content = disk.read_file("/data/checkpoint")
        assert content == b"new content" if finished else content in (b"old", b"new content")


@given(seed=st.integers(0, 1 << 32), writes=st.lists(st.binary(min_size=1, max_size=20), max_size=8))
def test_a_random_crash_keeps_a_prefix_of_what_was_appended(seed: int, writes: list[bytes]) -> None:
    disk = SimulatedDisk()
    _new_file(disk, "/data/a", b"synced")
    file = disk.open("/data/a")
    whole = b"synced"
    for data in writes:
        file.write_at(len(whole), [data])
        whole += data
    disk.crash(Random(seed))
    survived = disk.read_file("/data/a")
    assert whole.startswith(survived)
    assert survived.startswith(b"synced")


def test_a_full_disk_takes_what_fits_and_works_again_when_there_is_room() -> None:
    disk = SimulatedDisk(capacity_bytes=10)
    disk.make_dirs("/data")
    file = disk.open("/data/a", create=True)
    file.write_at(0, [b"12345678"])
    with pytest.raises(OSError, match="No space left") as caught:
        file.write_at(8, [b"abcd"])
    assert caught.value.errno == errno.ENOSPC
    assert file.read_at(0, 100) == b"12345678ab"
    file.truncate(8)
    assert disk.free_bytes("/data") == 2
    file.write_at(4, [b"over"])
    disk.capacity_bytes = None
    file.write_at(8, [b"abcd"])
    assert file.size() == 12


def test_a_fault_strikes_its_operation_and_path_only_as_often_as_told() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    log = disk.open("/data/0.log", create=True)
    index = disk.open("/data/0.index", create=True)
    disk.inject(Fault("write", "*.log", skip=1, times=2, written=3))
    index.write_at(0, [b"index"])
    log.write_at(0, [b"first"])
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            log.write_at(5, [b"second"])
    assert log.read_at(0, 100) == b"firstsec"
    log.write_at(5, [b"second"])
    disk.inject(Fault("sync"))
    with pytest.raises(OSError, match="Input/output error"):
        log.sync()
    disk.inject(Fault("read", times=100))
    disk.heal()
    assert log.read_at(0, 100) == b"firstsecond"


def test_after_a_power_cut_nothing_works_until_the_crash_is_over() -> None:
    disk = SimulatedDisk()
    _new_file(disk, "/data/a", b"x")
    disk.power_cut_at = disk.operations + 1
    for _ in range(2):
        with pytest.raises(PowerCut):
            disk.make_dirs("/data/b")
    disk.crash()
    disk.make_dirs("/data/b")


def test_an_evicted_file_is_cold_until_it_is_read() -> None:
    disk = SimulatedDisk()
    _new_file(disk, "/data/a", b"x")
    file = disk.open("/data/a", readonly=True)
    disk.evict("/data/a")
    assert file.read_cached(0, 1) is None
    assert file.read_at(0, 1) == b"x"
    assert file.read_cached(0, 1) == b"x"
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.write_at(0, [b"y"])


_names = st.sampled_from(["a", "b", "dir", "dir/a", "dir/b", "dir/sub", "none/a"])
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), _names, st.integers(0, 30), st.binary(max_size=20)),
        st.tuples(st.just("truncate"), _names, st.integers(0, 30)),
        st.tuples(st.just("replace_file"), _names, st.binary(max_size=20)),
        st.tuples(st.just("rename"), _names, _names),
        st.tuples(st.sampled_from(["make_dirs", "remove", "remove_tree", "list_dir", "size", "sync_dir"]), _names),
    ),
    max_size=30,
)


@given(steps=_steps)
def test_it_does_what_the_real_disk_does(steps: list[tuple[str, ...]]) -> None:
    with TemporaryDirectory() as root:
        real = [_outcome(RealDisk(), root, step) for step in steps]
        real_files = {
            str(path.relative_to(root)): path.read_bytes() for path in Path(root).rglob("*") if path.is_file()
        }
    disk = SimulatedDisk()
    disk.make_dirs("/root")
    assert [_outcome(disk, "/root", step) for step in steps] == real
    assert _files(disk, "/root") == real_files


def _outcome(disk: Disk, root: str, step: tuple[object, ...]) -> object:
    """What a step returned, or the kind of its failure: the exact errno differs between file systems."""
    name, path, *arguments = step
    path = f"{root}/{path}"
    try:
        if name in ("write", "truncate"):
            file = disk.open(path, create=True)
            try:
                if name == "write":
                    position, data = arguments
                    assert isinstance(position, int)
                    assert isinstance(data, bytes)
                    file.write_at(position if data else 0, [data[:5], data[5:]])
                else:
                    (size,) = arguments
                    assert isinstance(size, int)
                    file.truncate(size)
                return file.read_at(0, 1000), file.size()
            finally:
                file.close()
        if name == "rename":
            if disk.is_dir(path) or disk.is_dir(f"{root}/{arguments[0]}"):
                return None  # the broker never replaces directories, so this may differ
            arguments = [f"{root}/{arguments[0]}"]
        if name == "replace_file" and disk.is_dir(path):
            return None
        if name == "size" and disk.is_dir(path):
            return None
        if name == "remove_tree" and not disk.is_dir(path):
            return None
        return getattr(disk, str(name))(path, *arguments)
    except OSError:
        return OSError


def _files(disk: SimulatedDisk, root: str, prefix: str = "") -> dict[str, bytes]:
    found = {}
    for name in disk.list_dir(f"{root}/{prefix}"):
        path = f"{prefix}{name}"
        if disk.is_dir(f"{root}/{path}"):
            found.update(_files(disk, root, f"{path}/"))
        else:
            found[path] = disk.read_file(f"{root}/{path}")
    return found
