"""A fetch of many partitions is handled in time slices, and one of many bytes is copied by a worker."""

import asyncio
import datetime
import time
from collections.abc import Awaitable, Callable, Sized
from pathlib import Path
from typing import TypeVar, cast

from barnabas.env import FileRange, ThreadWorkers
from barnabas.env.time_slices import TimeSlices
from barnabas.handlers import fetch, produce
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.fetch import ANSWER_BYTES_MAX, COPIED_BYTES_MAX, PARTITIONS_AT_ONCE
from barnabas.handlers.services import Services, bind
from barnabas.node.broker_node import BrokerNode
from barnabas.records.record import Record, build_batch
from barnabas.wire.fetch_response import FetchAnswer
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

CONTEXT = RequestContext(ClientConnection("127.0.0.1", 1, "PLAINTEXT", "127.0.0.1"), 12, 12, None)
MANY = PARTITIONS_AT_ONCE + 1

T = TypeVar("T")


class CountingWorkers(ThreadWorkers):
    runs = 0

    def run(self, call: Callable[[], T]) -> Awaitable[T]:
        self.runs += 1
        return super().run(call)


def with_broker(
    scenario: Callable[[Services], Awaitable[T]], data_dir: Path, workers: ThreadWorkers | None = None
) -> T:
    async def run() -> T:
        properties = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(data_dir)}
        node = BrokerNode(properties, workers=workers)
        await node.start()
        try:
            await node._services.topic_maker.auto_create("t")
            return await asyncio.wait_for(scenario(node._services), 60)
        finally:
            await node.stop()

    return asyncio.run(run())


def append(services: Services, value: bytes) -> None:
    batch = build_batch([Record(timestamp=int(time.time() * 1000), value=value)])
    topic = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=batch),))
    call = ProduceRequest(acks=-1, timeout=datetime.timedelta(seconds=1), topic_data=(topic,))
    bind(produce.handle, services)(CONTEXT, call)


def ask(
    services: Services, *, times: int, max_bytes: int, max_wait_s: float = 0
) -> "FetchAnswer | Awaitable[FetchAnswer]":
    """The same partition many times, which counts as many partitions."""
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait=datetime.timedelta(seconds=max_wait_s),
        min_bytes=1,
        max_bytes=2**31 - 1,
        topics=(FetchTopic(topic="t", partitions=(asked,) * times),),
    )
    answer: FetchAnswer | Awaitable[FetchAnswer] = bind(fetch.handle, services)(CONTEXT, request)
    return answer


async def finished(answer: "FetchAnswer | Awaitable[FetchAnswer]") -> FetchAnswer:
    return answer if isinstance(answer, FetchAnswer) else await answer


def test_others_are_served_while_many_partitions_are_read(tmp_path: Path) -> None:
    async def scenario(services: Services) -> int:
        services.runtime.time_slices = TimeSlices(slice_s=0)
        reading = asyncio.ensure_future(finished(ask(services, times=MANY, max_bytes=100)))
        rounds = 0
        while not reading.done():
            rounds += 1
            await asyncio.sleep(0)
        assert len(reading.result().topics[0].partitions) == MANY
        return rounds

    assert with_broker(scenario, tmp_path) >= MANY


def test_a_record_that_comes_while_many_partitions_are_read_is_not_missed(tmp_path: Path) -> None:
    async def scenario(services: Services) -> FetchAnswer:
        services.runtime.time_slices = TimeSlices(slice_s=0)
        reading = asyncio.ensure_future(finished(ask(services, times=MANY, max_bytes=1000, max_wait_s=300)))
        for _ in range(MANY // 2):
            await asyncio.sleep(0)
        append(services, b"in the middle of the first pass")
        return await reading

    answer = with_broker(scenario, tmp_path)
    assert any(partition.records for partition in answer.topics[0].partitions)


def test_a_record_that_comes_after_many_partitions_were_read_wakes_the_fetch(tmp_path: Path) -> None:
    async def scenario(services: Services) -> FetchAnswer:
        reading = asyncio.ensure_future(finished(ask(services, times=MANY, max_bytes=1000, max_wait_s=300)))
        partition = services.replicas.get("t", 0)
        for _ in range(10 * MANY):  # far more rounds of the loop than the first pass takes
            await asyncio.sleep(0)
        assert partition._watchers
        append(services, b"after the first pass")
        answer = await reading
        assert not partition._watchers
        return answer

    assert all(partition.records for partition in with_broker(scenario, tmp_path).topics[0].partitions)


def sent(records: Sized) -> bytes:
    """As the client gets them."""
    return records.read() if isinstance(records, FileRange) else cast(bytes, records)


def test_a_long_answer_is_copied_by_a_worker_and_is_whole(tmp_path: Path) -> None:
    workers = CountingWorkers()

    async def scenario(services: Services) -> None:
        values = [bytes([index]) * 900_000 for index in range(12)]
        for value in values:
            append(services, value)
        runs = workers.runs
        short = await finished(ask(services, times=1, max_bytes=1_000_000))
        assert workers.runs == runs
        long = await finished(ask(services, times=1, max_bytes=12_000_000))
        assert workers.runs == runs + 1
        records = long.topics[0].partitions[0].records
        assert isinstance(records, bytes)
        assert len(records) > 12 * 900_000 > COPIED_BYTES_MAX
        assert records.startswith(sent(short.topics[0].partitions[0].records))
        assert all(value in records for value in values)
        together = await finished(ask(services, times=12, max_bytes=1_000_000))
        assert {sent(each.records) for each in together.topics[0].partitions} == {
            sent(short.topics[0].partitions[0].records)
        }
        assert workers.runs == runs + 2

    with_broker(scenario, tmp_path, workers)


def test_an_answer_has_a_size_that_a_slow_reader_may_keep_in_memory(tmp_path: Path) -> None:
    async def scenario(services: Services) -> None:
        for _ in range(20):
            append(services, b"x" * 900_000)
        answer = await finished(ask(services, times=1, max_bytes=2**31 - 1))
        records = answer.topics[0].partitions[0].records
        assert ANSWER_BYTES_MAX - 1_000_000 < len(records) <= ANSWER_BYTES_MAX

    with_broker(scenario, tmp_path)
