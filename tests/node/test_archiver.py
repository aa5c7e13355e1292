"""The broker archives the topics with `barnabas.archive.enable`."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from barnabas.env import SystemClock
from barnabas.history.manifest import load
from barnabas.metadata.configs import BrokerConfigs, resolve_topic_settings
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY_IMAGE, TOPIC, ClusterImage, ConfigsImage
from barnabas.node.archiver import Archiver
from barnabas.testing import Broker

ENABLE = "barnabas.archive.enable"


def _until(condition: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_s
        time.sleep(0.02)


def _is_reading(history: Path, topic: str) -> bool:
    """Rows have been read, and are in a file that is not full yet."""
    return any((history / topic).glob(".0-*.tmp"))


def _write(broker: Broker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def _set(broker: Broker, topic: str, value: str) -> None:
    entry = ConfigEntry(ENABLE, value, incremental_operation=AlterConfigOpType.SET)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def test_topics_that_ask_for_it_are_archived_until_the_broker_stops(tmp_path: Path) -> None:
    history = tmp_path / "history"
    with Broker(properties={"barnabas.archive.dir": str(history)}) as broker:
        broker.create_topic("kept", config={ENABLE: "true"})
        broker.create_topic("plain")
        _write(broker, "kept", b"a", b"b")
        _until(lambda: _is_reading(history, "kept"))
        assert not (history / "plain").exists()
        _set(broker, "plain", "true")  # another archiver for both; the first one leaves a finished file
        _write(broker, "plain", b"c")
        _until(lambda: _is_reading(history, "plain"))
        assert load(history, "kept").tiered_through == {0: 2}
        broker.stop()
        assert load(history, "plain").tiered_through == {0: 1}
        broker.start()
        _write(broker, "kept", b"d")
        _until(lambda: _is_reading(history, "kept"))
    assert [piece.rows for piece in load(history, "kept").files()] == [2, 1]


def _image(*topics: str) -> ClusterImage:
    from dataclasses import replace

    configs = ConfigsImage(by_resource={(TOPIC, topic): {ENABLE: "true"} for topic in topics})
    return replace(EMPTY_IMAGE, configs=configs)


PROGRAM = """
import os, signal, sys, time
with open({log!r}, "a") as log:
    log.write(f"{{os.getpid()}} {{' '.join(sys.argv[1:])}}\\n")
{then}
"""
WAIT = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nwhile True: signal.pause()"


def _started(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


async def _until_async(condition: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_s
        await asyncio.sleep(0.02)


def _archiver(log: Path, then: str) -> Archiver:
    program = PROGRAM.format(log=str(log), then=then)
    return Archiver(
        "/history",
        "localhost:1",
        clock=SystemClock(),
        settings_of=lambda topic: resolve_topic_settings({ENABLE: "true"}, BrokerConfigs()),
        command=[sys.executable, "-c", program],
    )


def test_it_runs_for_the_topics_of_the_moment_and_starts_again_when_it_dies(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def scenario() -> None:
        archiver = _archiver(log, WAIT)
        archiver.start()
        archiver.apply(_image("b", "a"), Delta())
        await _until_async(lambda: len(_started(log)) == 1)
        assert _started(log)[0][1:] == [
            *("--follow", "--to", "/history", "--bootstrap-server", "localhost:1"),
            *("--while-parent", str(os.getpid()), "--topic", "a", "--topic", "b"),
        ]
        os.kill(int(_started(log)[0][0]), signal.SIGKILL)
        await _until_async(lambda: len(_started(log)) == 2)
        archiver.apply(_image("b", "a"), Delta())  # nothing new
        archiver.apply(_image("c"), Delta())
        await _until_async(lambda: len(_started(log)) == 3)
        assert _started(log)[2][-2:] == ["--topic", "c"]
        archiver.apply(_image(), Delta())
        await _until_async(lambda: not _alive(int(_started(log)[2][0])))
        await archiver.stop()
        assert len(_started(log)) == 3

    asyncio.run(scenario())


def test_one_that_ends_at_once_is_started_ever_more_rarely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    log = tmp_path / "log"

    async def scenario() -> None:
        archiver = _archiver(log, "sys.exit(3)")

        async def back_off(delay_ms: int) -> None:
            waits.append(delay_ms)

        monkeypatch.setattr(archiver, "_back_off", back_off)
        archiver.apply(_image("a"), Delta())
        archiver.start()
        await _until_async(lambda: len(waits) >= 3)
        await archiver.stop()

    asyncio.run(scenario())
    assert waits[:3] == [1000, 2000, 4000]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
