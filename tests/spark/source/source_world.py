"""Helpers for tests of the source: one-line operations on a broker."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewPartitions

from barnabas.env import InlineWorkers
from barnabas.node.broker_node import BrokerNode
from barnabas.testing import Broker
from barnabas.testing.clock import VirtualClock
from barnabas.testing.disk import SimulatedDisk

TIMEOUT_S = 60.0


def write(bootstrap: str, topic: str, values: Iterable[bytes], *, partition: int = 0, **more: Any) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    for value in values:
        producer.produce(topic, value, partition=partition, **more)
    assert producer.flush(TIMEOUT_S) == 0
    del producer


def numbered(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def delete_records(bootstrap: str, topic: str, partition: int, before: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([Place(topic, partition, before)]).values():
        future.result(TIMEOUT_S)


def add_partitions(bootstrap: str, topic: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_partitions([NewPartitions(topic, total)]).values():
        future.result(TIMEOUT_S)


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_topics([topic]).values():
        future.result(TIMEOUT_S)


def remake_topic(broker: Broker, topic: str, partitions: int = 1) -> None:
    delete_topic(broker.bootstrap_servers, topic)
    broker.create_topic(topic, partitions=partitions)


def now_ms() -> int:
    return int(time.time() * 1000)


class VirtualBroker:
    """A whole broker on real sockets, with a disk in memory and a clock that only `elapse` moves."""

    def __init__(self, node: BrokerNode, clock: VirtualClock, loop: asyncio.AbstractEventLoop) -> None:
        self._node = node
        self._loop = loop
        self.clock = clock

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._node.port}"

    def elapse(self, by_ms: int) -> None:
        self._run(self.clock.elapse(by_ms))

    def _run(self, doing: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(doing, self._loop).result(TIMEOUT_S)


@contextmanager
def virtual_broker(properties: Mapping[str, str] | None = None) -> Iterator[VirtualBroker]:
    clock = VirtualClock(now_ms())
    ready, stop = threading.Event(), asyncio.Event()
    made: list[VirtualBroker] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        node = BrokerNode(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": "/data",
                "offsets.topic.num.partitions": "1",
                # Chores that come every few seconds make up most of a week.
                "log.cleaner.backoff.ms": "86400000",
                "log.flush.offset.checkpoint.interval.ms": "86400000",
                **(properties or {}),
            },
            clock=clock,
            disk=SimulatedDisk(now_ms=clock.now_ms),
            workers=InlineWorkers(),
            rng=Random(1),
        )
        await node.start()
        made.append(VirtualBroker(node, clock, loop))
        ready.set()
        while not stop.is_set():
            await clock.elapse(0)  # what is due at once happens, and no time passes
            await asyncio.sleep(0.001)
        await node.stop()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=run, name="virtual-broker", daemon=True)
    thread.start()
    assert ready.wait(TIMEOUT_S)
    assert made, "the broker did not start"
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(TIMEOUT_S)
