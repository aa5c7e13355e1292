"""A full disk does no damage: writes get a clear error, reads continue, and everything works once there is room.

The same tests run with a broker process on a small file system, if mounting one is permitted, and always with a broker
in this process on a disk in memory.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from full_disk import SimulatedSmallDisk, SmallDisk, may_mount, mounted_tmpfs
from plain_requests import (
    LATEST,
    commit_offset,
    committed_offset,
    list_offset,
    produce,
    read_all,
    topic_names,
)

from barnabas.env import InlineWorkers
from barnabas.node.broker_node import BrokerNode
from barnabas.node.errors import StartError
from barnabas.testing import Broker
from barnabas.testing.client import Client, create_topic
from barnabas.testing.runner import BrokerDidNotStart
from barnabas.wire.errors import ErrorCode

pytestmark = pytest.mark.crash

PROPERTIES = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
TOPIC = "t"
CONFIG = {"internal.segment.bytes": "20000"}


class Stage:
    """A broker on a small disk."""

    def __init__(self, disk: SmallDisk, connect: Callable[[], Client], restart: Callable[[], None]) -> None:
        self.disk = disk
        self.connect = connect
        self.restart = restart


@contextlib.contextmanager
def on_tmpfs(tmp_path: Path) -> Iterator[Stage]:
    with mounted_tmpfs(tmp_path / "small", "3m") as disk:
        data_dir = disk.path / "data"
        with Broker(process=True, data_dir=data_dir, properties=PROPERTIES) as broker:

            def kill_and_start() -> None:
                if broker.is_running():
                    broker.kill()
                broker.start()

            yield Stage(disk, broker.connect, kill_and_start)


@contextlib.contextmanager
def in_memory(tmp_path: Path) -> Iterator[Stage]:
    disk = SimulatedSmallDisk()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="broker")
    thread.start()
    nodes: list[BrokerNode] = []

    def boot() -> None:
        properties = {**PROPERTIES, "listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "/data"}
        node = BrokerNode(properties, disk=disk, workers=InlineWorkers(), rng=Random(1))
        asyncio.run_coroutine_threadsafe(node.start(), loop).result(30)
        nodes.append(node)

    def stop() -> None:
        asyncio.run_coroutine_threadsafe(nodes.pop().stop(), loop).result(30)

    def stop_and_boot() -> None:
        if nodes:
            stop()
        boot()

    boot()
    try:
        yield Stage(disk, lambda: Client("127.0.0.1", nodes[-1].port), stop_and_boot)
        stop()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


STAGES = [in_memory, on_tmpfs] if may_mount() else [in_memory]


@pytest.fixture(params=STAGES, ids=lambda stage: stage.__name__)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    with request.param(tmp_path) as made:
        yield made


def test_a_full_disk_refuses_writes_and_nothing_else(stage: Stage) -> None:
    acknowledged: list[bytes] = []
    sequence = 0

    def send(client: Client, size: int = 3000) -> tuple[ErrorCode, str | None]:
        nonlocal sequence
        now_ms = time.time_ns() // 1_000_000
        value = b"%06d" % sequence + b"." * size
        answer = produce(client, TOPIC, [value], producer_id=9, base_sequence=sequence, timestamp=now_ms)
        if answer.error_code == ErrorCode.none:
            assert answer.base_offset == len(acknowledged)
            acknowledged.append(value)
            sequence += 1
        return answer.error_code, answer.error_message

    with stage.connect() as client:
        create_topic(client, TOPIC, config=CONFIG)
        for _ in range(40):
            assert send(client)[0] == ErrorCode.none
        assert commit_offset(client, "g", TOPIC, 11) == ErrorCode.none

        stage.disk.fill()
        # The rest of the last page may still hold one batch.
        refused = [answer for answer in (send(client) for _ in range(10)) if answer[0] != ErrorCode.none]
        assert len(refused) >= 5
        for code, message in refused:
            assert code == ErrorCode.kafka_storage_error
            assert "is full" in (message or "")
        committed = 12 if commit_offset(client, "g", TOPIC, 12) == ErrorCode.none else 11
        assert committed_offset(client, "g", TOPIC) == committed
        assert [record.value for record in read_all(client, TOPIC)] == acknowledged
        with pytest.raises(RuntimeError, match="is full"):
            create_topics_until_refused(client)
        assert list_offset(client, TOPIC, LATEST) == len(acknowledged)

        stage.disk.make_room()
        for _ in range(40):
            assert send(client)[0] == ErrorCode.none
        assert commit_offset(client, "g", TOPIC, 13) == ErrorCode.none
        create_topic(client, "afterwards")
        assert [record.value for record in read_all(client, TOPIC)] == acknowledged

    stage.restart()
    with stage.connect() as client:
        assert [record.value for record in read_all(client, TOPIC)] == acknowledged
        assert committed_offset(client, "g", TOPIC) == 13
        assert "afterwards" in topic_names(client)
        assert send(client)[0] == ErrorCode.none


def create_topics_until_refused(client: Client) -> None:
    for number in range(200):
        create_topic(client, f"filler-{number}")


def test_a_broker_that_cannot_start_on_a_full_disk_says_so_and_starts_when_there_is_room(stage: Stage) -> None:
    """Every start is an election, which must be stored."""
    values = [b"%d" % number for number in range(20)]
    with stage.connect() as client:
        create_topic(client, TOPIC, config=CONFIG)
        for value in values:
            assert produce(client, TOPIC, [value]).error_code == ErrorCode.none
    stage.disk.fill()
    with pytest.raises((BrokerDidNotStart, StartError), match=r"is full|No space left") as refusal:
        stage.restart()
    assert "Traceback" not in str(refusal.value)
    stage.disk.make_room()
    stage.restart()
    with stage.connect() as client:
        assert [record.value for record in read_all(client, TOPIC)] == values
