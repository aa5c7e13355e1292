"""The disk that crashes a broker at a given step, and the names of the steps."""

import errno

import pytest

from barnabas.testing.crashing_disk import CrashingDisk, CrashPoint
from barnabas.testing.disk import PowerCut, SimulatedDisk
from barnabas.testing.disk_steps import Effect, name_step

SEGMENT = "/data/orders-0/00000000000000000042"


def die() -> None:
    raise PowerCut


def disk_that_dies(at: str) -> tuple[CrashingDisk, SimulatedDisk]:
    inner = SimulatedDisk()
    inner.make_dirs("/data/orders-0")
    return CrashingDisk(inner, at=CrashPoint.parse(at), die=die), inner


@pytest.mark.parametrize(
    ("effect", "path", "target", "name"),
    [
        ("write", f"{SEGMENT}.log", None, "append: write .log"),
        ("create", f"{SEGMENT}.log", None, "roll: create .log"),
        ("create", "/data/orders-0/00000000000000000000.log", None, "creation: create .log"),
        ("write", f"{SEGMENT}.snapshot", None, "roll: write .snapshot"),
        ("sync", f"{SEGMENT}.log", None, "flush: sync .log"),
        ("truncate", f"{SEGMENT}.log", None, "truncation: cut .log"),
        (
            "rename",
            f"{SEGMENT}.log.cleaned",
            f"{SEGMENT}.log.swap",
            "compaction: rename .cleaned to .swap (.log)",
        ),
        ("rename", f"{SEGMENT}.index.swap", f"{SEGMENT}.index", "compaction: rename .swap to segment (.index)"),
        ("rename", f"{SEGMENT}.log", f"{SEGMENT}.log.deleted", "deletion: rename .log to .deleted"),
        ("remove", f"{SEGMENT}.log.deleted", None, "deletion: remove .log.deleted"),
        ("make", "/data/orders-0", None, "creation: make directory"),
        ("rename", "/data/orders-0", "/data/orders-0.abc-delete", "topic deletion: rename directory"),
        ("remove", "/data/orders-0.abc-delete", None, "topic deletion: remove directory"),
        ("sync names of", "/data/orders-0", None, "flush: sync names of directory"),
        ("write", "/data/__consumer_offsets-3/00000000000000000042.log", None, "groups append: write .log"),
        ("sync", "/data/__cluster_metadata-0/00000000000000000042.log", None, "metadata flush: sync .log"),
        ("rename", "/data/__cluster_metadata-0/quorum-state.tmp", "", "election: rename temporary quorum-state"),
        (
            "write",
            "/data/__cluster_metadata-0/00000000000000000042-0000000001.checkpoint.tmp",
            None,
            "metadata snapshot: write temporary .checkpoint",
        ),
        (
            "write",
            "/data/recovery-point-offset-checkpoint.tmp",
            None,
            "checkpoint: write temporary recovery-point-offset-checkpoint",
        ),
        ("remove", "/data/.kafka_cleanshutdown", None, "clean mark: remove .kafka_cleanshutdown"),
    ],
)
def test_names(effect: Effect, path: str, target: str | None, name: str) -> None:
    assert name_step(effect, path, target=target) == name


def test_points_are_read_as_they_are_written() -> None:
    point = CrashPoint("compaction: rename .cleaned to .swap (.log)", 3, "after")
    assert CrashPoint.parse(str(point)) == point
    assert CrashPoint.parse("roll: create .log") == CrashPoint("roll: create .log", 1, "before")
    for nonsense in ("roll: create .log#2/sometimes", "roll: create .log#two"):
        with pytest.raises(ValueError, match="not a crash point"):
            CrashPoint.parse(nonsense)


@pytest.mark.parametrize(("moment", "left"), [("before", b"one"), ("torn", b"onetw"), ("after", b"onetwo!")])
def test_a_broker_dies_before_in_or_after_a_write(moment: str, left: bytes) -> None:
    disk, inner = disk_that_dies(f"append: write .log#2/{moment}")
    file = disk.open(f"{SEGMENT}.log", create=True)
    file.write_at(0, [b"one"])
    with pytest.raises(PowerCut):
        file.write_at(3, [b"tw", b"o!"])
    assert inner.read_file(f"{SEGMENT}.log") == left
    with pytest.raises(PowerCut):  # the dead change nothing
        disk.remove(f"{SEGMENT}.log")
    assert inner.exists(f"{SEGMENT}.log")
    assert disk.is_reached


def test_a_replaced_file_is_taken_apart() -> None:
    disk, inner = disk_that_dies("checkpoint: rename temporary cleaner-offset-checkpoint#1/before")
    with pytest.raises(PowerCut):
        disk.replace_file("/data/cleaner-offset-checkpoint", b"new")
    assert inner.list_dir("/data") == ["cleaner-offset-checkpoint.tmp", "orders-0"]


def test_an_error_comes_once_and_a_full_disk_stays_full_until_there_is_room() -> None:
    disk, _ = disk_that_dies("flush: sync .log#1/error")
    file = disk.open(f"{SEGMENT}.log", create=True)
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    file.sync()

    disk, inner = disk_that_dies("append: write .log#1/full")
    file = disk.open(f"{SEGMENT}.log", create=True)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left") as caught:
            file.write_at(0, [b"four"])
        assert caught.value.errno == errno.ENOSPC
    assert inner.read_file(f"{SEGMENT}.log") == b"fo"
    file.truncate(0)
    assert disk.free_bytes("/data") == 0
    disk.make_room()
    file.write_at(0, [b"four"])
    assert inner.read_file(f"{SEGMENT}.log") == b"four"
