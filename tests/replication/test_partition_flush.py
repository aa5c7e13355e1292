"""When a partition is synced, and the effect of a sync on a partition that is removed meanwhile."""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from barnabas.env import InlineWorkers
from barnabas.log.settings import LogSettings
from barnabas.records.batch import read_batch
from barnabas.records.record import Record, build_batch
from barnabas.replication.partition import FLUSH_RETRY_MS
from barnabas.testing.clock import VirtualClock
from barnabas.testing.disk import Fault, SimulatedDisk
from barnabas.wire.errors import KafkaStorageError, UnknownTopicOrPartition
from one_partition import PLACE, led_partition, log_store

T = TypeVar("T")


class SlowWorkers(InlineWorkers):
    """Workers that start when the test says so."""

    def __init__(self) -> None:
        self.may_run = asyncio.Event()

    async def run(self, call: Callable[[], T]) -> T:
        await self.may_run.wait()
        return call()


class Bench:
    """One partition on a simulated disk."""

    def __init__(self, settings: LogSettings) -> None:
        self.clock = VirtualClock()
        self.disk = SimulatedDisk(now_ms=self.clock.now_ms)
        self.workers = SlowWorkers()
        self.settings = settings
        self.boot()

    def boot(self) -> None:
        self.store = log_store(self.clock, self.disk, self.settings)
        self.partition = led_partition(self.clock, self.store, self.workers)

    def append(self, value: bytes = b"x", *, count: int = 1) -> int:
        now_ms = self.clock.now_ms()
        batch = read_batch(build_batch([Record(timestamp=now_ms, value=value)] * count))
        return self.partition.append([batch], now_ms=now_ms).last_offset

    @property
    def synced(self) -> int:
        return self.partition.log.flush_state.recovery_point


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    asyncio.run(whole())


def test_a_topic_deleted_while_it_is_synced_does_not_take_its_directory_offline() -> None:
    async def scenario() -> None:
        bench = Bench(LogSettings(flush_messages=1))
        waiter = bench.partition.wait_committed(bench.append())
        await bench.clock.settle()
        bench.partition.discard()
        bench.store.delete(PLACE)
        bench.workers.may_run.set()
        await bench.clock.settle()
        with pytest.raises(UnknownTopicOrPartition):
            await waiter
        assert not bench.store.directories[0].health.is_offline
        with pytest.raises(UnknownTopicOrPartition):
            _ = bench.partition.log
        assert PLACE not in bench.store

    run(scenario)


def test_a_sync_that_found_the_disk_full_is_tried_again() -> None:
    """Nothing else would: the record is in the log, so its producer's retry appends nothing that triggers a sync."""

    async def scenario() -> None:
        bench = Bench(LogSettings(flush_messages=1))
        bench.workers.may_run.set()
        bench.disk.inject(Fault("write", "*/leader-epoch-checkpoint.tmp", errno.ENOSPC, times=2))
        waiter = bench.partition.wait_committed(bench.append())
        await bench.clock.settle()
        with pytest.raises(KafkaStorageError, match="full"):
            await waiter
        again = bench.partition.wait_committed(0)
        await bench.clock.elapse(FLUSH_RETRY_MS)
        with pytest.raises(KafkaStorageError, match="full"):
            await again
        again = bench.partition.wait_committed(0)
        await bench.clock.elapse(FLUSH_RETRY_MS)
        await again
        assert bench.synced == 1

    run(scenario)


def test_after_a_crash_the_high_watermark_is_never_inside_a_batch() -> None:
    """The stored recovery point may be: it only says where recovery starts to read."""

    async def scenario() -> None:
        bench = Bench(LogSettings(flush_messages=1))
        bench.workers.may_run.set()
        bench.append(count=4)
        await bench.clock.settle()
        assert bench.partition.log.high_watermark == 4
        bench.store.checkpoint()
        bench.disk.remove("/logs/replication-offset-checkpoint")
        bench.disk.kill()
        bench.workers.may_run.clear()
        bench.boot()
        assert bench.partition.log.flush_state.recovery_point == 3
        assert bench.partition.log.high_watermark == 0
        bench.append()
        assert bench.partition.log.high_watermark == 0
        bench.workers.may_run.set()
        await bench.clock.settle()
        assert bench.partition.log.high_watermark == 5

    run(scenario)


def test_flush_ms_counts_from_the_first_record_that_is_not_synced() -> None:
    async def scenario() -> None:
        bench = Bench(LogSettings(flush_ms=1000))
        bench.workers.may_run.set()
        bench.append()
        await bench.clock.elapse(600)
        bench.append()
        await bench.clock.elapse(399)
        assert bench.synced == 0
        await bench.clock.elapse(1)
        assert bench.synced == 2
        bench.append()
        await bench.clock.elapse(1000)
        assert bench.synced == 3
        assert bench.clock.next_due_ms() is None, "nothing to sync, nothing to wait for"

    run(scenario)


def test_a_record_that_came_during_a_sync_waits_for_the_next_one() -> None:
    async def scenario() -> None:
        bench = Bench(LogSettings(flush_ms=1000))
        bench.append()
        await bench.clock.elapse(1000)  # begins, and the workers are slow
        bench.append()
        await bench.clock.elapse(1000)
        assert bench.synced == 0
        bench.workers.may_run.set()
        await bench.clock.settle()
        assert bench.synced == 1
        await bench.clock.elapse(1000)
        assert bench.synced == 2

    run(scenario)


def test_a_sealed_segment_is_synced() -> None:
    async def scenario() -> None:
        bench = Bench(LogSettings(segment_bytes=200))
        bench.workers.may_run.set()
        bench.append(bytes(100))
        await bench.clock.settle()
        assert bench.synced == 0
        bench.append(bytes(100))
        await bench.clock.settle()
        assert bench.synced == 2

    run(scenario)


def test_after_a_crash_what_is_there_is_synced_and_then_readable() -> None:
    async def scenario() -> None:
        bench = Bench(LogSettings(flush_messages=1))
        bench.workers.may_run.set()
        bench.append()
        bench.append()
        await bench.clock.settle()
        bench.disk.kill()  # no checkpoint was written: the recovery point is not known
        bench.boot()
        log = bench.partition.log
        assert (log.high_watermark, log.log_end_offset) == (0, 2)
        await bench.clock.settle()
        assert (log.high_watermark, log.flush_state.recovery_point) == (2, 2)

    run(scenario)
