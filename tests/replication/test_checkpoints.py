"""Rounds of checkpoints: never two at a time, shared by all waiting callers, and each gets a failure."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from barnabas.env import RealDisk
from barnabas.env.workers import Workers
from barnabas.log.log_store import LogStore
from barnabas.log.settings import LogSettings
from barnabas.model import TopicPartition
from barnabas.records.batch import read_batch
from barnabas.records.record import Record, build_batch
from barnabas.replication.checkpoints import Checkpoints
from barnabas.wire.errors import KafkaStorageError

T = TypeVar("T")


class GatedWorkers(Workers):
    """Work waits until the gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started = 0

    async def run(self, work: Callable[[], T]) -> T:
        self.started += 1
        await self.gate.wait()
        return work()

    def close(self) -> None:
        pass


def a_store(path: Path) -> LogStore:
    store = LogStore(
        RealDisk(),
        [str(path / "data")],
        cluster_id="c",
        node_id=1,
        settings_of=lambda _: LogSettings(),
        now_ms=lambda: 0,
        random=random.Random(1),
    )
    log = store.create(TopicPartition("t", 0), None)
    log.append([read_batch(build_batch([Record(timestamp=0, value=b"v")] * 9))], leader_epoch=0, now_ms=0)
    log.high_watermark = 9
    return store


def log_start_on_disk(path: Path) -> int:
    lines = (path / "data" / "log-start-offset-checkpoint").read_text().splitlines()
    return int(dict(line.rsplit(" ", 1) for line in lines[2:])["t 0"])


def test_those_who_ask_during_a_round_share_the_next(tmp_path: Path) -> None:
    async def scenario() -> None:
        store, workers = a_store(tmp_path), GatedWorkers()
        log = store.get(TopicPartition("t", 0))
        checkpoints = Checkpoints(store, workers)
        log.delete_records(2)
        first = asyncio.ensure_future(checkpoints.write())
        await asyncio.sleep(0.01)
        log.delete_records(5)
        others = [asyncio.ensure_future(checkpoints.write()) for _ in range(5)]
        await asyncio.sleep(0.01)
        assert workers.started == 1
        others[0].cancel()
        workers.gate.set()
        await first
        await asyncio.gather(*others[1:])
        assert workers.started == 2
        assert log_start_on_disk(tmp_path) == 5
        await checkpoints.finish()
        store.close()

    asyncio.run(scenario())


def test_a_failed_round_is_told_to_those_who_waited_for_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        store, workers = a_store(tmp_path), GatedWorkers()
        workers.gate.set()
        checkpoints = Checkpoints(store, workers)
        store.get(TopicPartition("t", 0)).delete_records(2)
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        outcomes = await asyncio.gather(checkpoints.write(), checkpoints.write(), return_exceptions=True)
        assert [type(each) for each in outcomes] == [KafkaStorageError] * 2
        with pytest.raises(FileNotFoundError):
            log_start_on_disk(tmp_path)

    asyncio.run(scenario())
