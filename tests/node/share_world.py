"""A broker on a virtual clock, with one topic of two partitions and a share group that begins with the first record.

The broker runs on a loop in a thread of its own; tests talk to it over blocking sockets, and move its clock.
"""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable
from random import Random
from typing import TypeVar

from share_member import ShareMember, configure_group, find_coordinator, topic_id

from barnabas.env import InlineWorkers
from barnabas.node.broker_node import BrokerNode
from barnabas.testing.client import Client, create_topic
from barnabas.testing.clock import VirtualClock
from barnabas.testing.clock_driver import ClockDriver, IdleSelector
from barnabas.testing.disk import SimulatedDisk

T = TypeVar("T")

DATA = "/data"
PROPERTIES = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "log.dirs": DATA,
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    "log.cleaner.backoff.ms": "86400000",
    "log.flush.offset.checkpoint.interval.ms": "86400000",
}


class ShareWorld:
    """A broker, its time, its disk, and clients."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.disk = SimulatedDisk(now_ms=self.clock.now_ms)
        self.properties = dict(PROPERTIES)
        self._clients: list[Client] = []
        selector = IdleSelector()
        self._loop = asyncio.SelectorEventLoop(selector)
        self._driver = ClockDriver(self.clock, self._loop, selector)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.start()

    def _do(self, work: "Callable[[], object]") -> object:
        async def run() -> object:
            result = work()
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(20)

    def start(self) -> None:
        self.node = BrokerNode(
            self.properties, clock=self.clock, disk=self.disk, workers=InlineWorkers(), rng=Random(1)
        )
        self._do(self.node.start)

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()
        self._do(self.node.stop)

    def restart(self) -> None:
        self.stop()
        self.start()

    def connect(self) -> Client:
        client = Client("127.0.0.1", self.node.port)
        self._clients.append(client)
        return client

    def close(self) -> None:
        self.stop()
        self._do(self._driver.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- what most tests begin with

    def make_topic(self, name: str = "t", partitions: int = 2) -> uuid.UUID:
        client = self.connect()
        create_topic(client, name, partitions=partitions)
        return topic_id(client, name)

    def member(self, group: str = "g", *, joins: str | None = "t", client: Client | None = None) -> ShareMember:
        member = ShareMember(client or self.connect(), group)
        if joins is not None:
            find_coordinator(member.client, group)
            answer = eventually(lambda: member.heartbeat(joins, epoch=0), lambda beat: beat.error_code == 0)
            assert answer.assignment is not None
        return member

    def configure(self, group: str = "g", **configs: str) -> None:
        configure_group(
            self.connect(), group, {f"share.{name.replace('_', '.')}": text for name, text in configs.items()}
        )


def eventually(ask: Callable[[], T], is_enough: Callable[[T], bool], timeout_s: float = 20.0) -> T:
    deadline = time.monotonic() + timeout_s
    while True:
        answer = ask()
        if is_enough(answer):
            return answer
        assert time.monotonic() < deadline, answer
