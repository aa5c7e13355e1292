"""The real process on a real disk: the same result as the core, and it may be killed at any moment."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from compaction_cases import COMPACTED, DEFAULTS, put, records_of, run, values_of
from log_fixtures import NOW_MS, PARTITION, TOPIC_ID, damages_of, open_store
from msgspec import json

from barnabas.env import RealDisk
from barnabas.log.compaction import CleanerSettings, Compaction, CompactionAborted, Compactor
from barnabas.log.compaction_job import Failed
from barnabas.log.compaction_worker import ORPHANED
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings

DISK = RealDisk()
SETTINGS = replace(COMPACTED, segment_bytes=20_000)


def written(path: Path, settings: LogSettings = SETTINGS) -> tuple[LogStore, PartitionLog]:
    store = open_store(DISK, str(path), settings=settings)
    log = store.create(PARTITION, TOPIC_ID)
    for n in range(120):
        put(log, *((b"key-%d" % (n * 7 % 31 + m), b"%d" % n * 20) for m in range(10)), codec=n % 5)
    log.roll(NOW_MS)
    log.flush()
    store.checkpoint()
    return store, log


def begin(store: LogStore, settings: CleanerSettings = DEFAULTS) -> tuple[Compactor, Compaction]:
    compactor = Compactor(DISK, store, settings)
    compaction = compactor.begin(NOW_MS)
    assert compaction is not None
    return compactor, compaction


def start(compaction: Compaction) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(compaction.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(compaction.input)
    process.stdin.close()
    return process


def test_the_worker_does_what_the_core_does(tmp_path: Path) -> None:
    store, log = written(tmp_path / "a")
    table = values_of(records_of(log))
    compactor, compaction = begin(store)
    process = start(compaction)
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            compaction.handle(line, NOW_MS)
    assert process.wait() == 0
    compaction.sync_and_clean_up()
    compactor.finish(compaction, NOW_MS)
    assert store.directories[0].cleaner_offsets == {PARTITION: 1200}
    assert values_of(records_of(log)) == table
    assert damages_of(log) == []

    twin_store, twin = written(tmp_path / "b")
    run(begin(twin_store)[1], DISK)
    for segment, other in zip(log.segments, twin.segments, strict=True):
        for mine, theirs in zip(segment.files.existing_paths(), other.files.existing_paths(), strict=True):
            assert Path(mine).read_bytes() == Path(theirs).read_bytes()
    store.close()
    twin_store.close()


@pytest.mark.crash
def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    store, log = written(tmp_path)
    before = records_of(log)
    compactor, compaction = begin(store, CleanerSettings(io_bytes_per_second=60_000))
    process = start(compaction)
    assert process.stdout is not None
    with process.stdout as lines:
        compaction.handle(lines.readline(), NOW_MS)  # one segment is swapped in, the next is being written
        process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    swapped = records_of(log)
    assert len(swapped) < len(before)

    # The broker dies too, before it could clean up.
    os.close(os.open(f"{log.directory}/{7:020d}.log.cleaned", os.O_CREAT | os.O_WRONLY))
    for file in log.store.detach():
        file.close()
    again = open_store(DISK, str(tmp_path), settings=SETTINGS)
    reopened = again.get(PARTITION)
    assert not [name for name in os.listdir(log.directory) if name.endswith(".cleaned")]
    assert records_of(reopened) == swapped
    assert values_of(swapped) == values_of(before)
    run(begin(again)[1], DISK)
    assert values_of(records_of(reopened)) == values_of(before)
    assert len(records_of(reopened)) == len(values_of(before))
    compaction.sync_and_clean_up()
    compactor.finish(compaction, NOW_MS)
    again.close()


def test_the_worker_tells_why_it_failed(tmp_path: Path) -> None:
    store, log = written(tmp_path)
    _, compaction = begin(store)
    os.truncate(log.segments[1].path(".log"), 100)
    process = start(compaction)
    assert process.stdout is not None
    with process.stdout as lines:
        (line,) = lines
    assert process.wait() == 1
    assert log.segments[1].path(".log") in json.decode(line, type=Failed).reason
    with pytest.raises(CompactionAborted, match="damaged"):
        compaction.handle(line, NOW_MS)
    for file in log.store.detach():
        file.close()


def test_an_orphan_ends_at_once(tmp_path: Path) -> None:
    store, log = written(tmp_path)
    _, compaction = begin(store)
    command = [*compaction.command[:-1], str(os.getpid() + 1)]
    done = subprocess.run(command, input=compaction.input, stdout=subprocess.PIPE, check=False)
    assert done.returncode == ORPHANED
    assert done.stdout == b""
    store.close()
    assert records_of(open_store(DISK, str(tmp_path), settings=SETTINGS).get(PARTITION))[-1].offset == 1199
    assert log.log_end_offset == 1200


def test_the_worker_imports_only_what_it_needs() -> None:
    script = "import barnabas.log.compaction_worker, sys; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout.decode().split()
    strangers = {"kio.serial", "uvloop", "typer", "rich", "barnabas.log.partition_log", "barnabas.log.log_store"}
    assert strangers.isdisjoint(modules)
