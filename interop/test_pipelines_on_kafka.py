"""What pipelines need of a broker, on Apache Kafka: dead letters sent once, pointers, batches that end at one time."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka_server import KafkaServer
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.client.cluster import Cluster
from barnabas.pipeline.dead_letters.sending import COMMITTED, STEPS, replay
from barnabas.pipeline.replay.pointer_moves import move, publish_first
from barnabas.records.record import Record
from barnabas.spark import pointer
from barnabas.spark.options.source import stream_options
from barnabas.spark.source.offsets import parse
from barnabas.spark.source.stream import Stream
from barnabas.testing.letter_world import LetterWorld, letter, renumbered

NOW_MS = int(time.time() * 1000)


class Crash(BaseException):
    """A crash: no cleanup code runs."""


@pytest.fixture(scope="module")
def server(peers: Peers, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    home = tmp_path_factory.mktemp("kafka")
    kafka = KafkaServer(peers, home / "data", home / "kafka")
    kafka.format(tools)
    with kafka:
        yield kafka


@pytest.fixture
def world(server: KafkaServer, barnabas_topic: str, tmp_path: Path) -> LetterWorld:
    made = LetterWorld(server.bootstrap_servers, barnabas_topic, tmp_path)
    for name in barnabas_topic, f"{barnabas_topic}.dead":
        made.create(name, partitions=2)
    return made


def crash_at(step: str) -> Callable[[str], None]:
    def hook(passed: str) -> None:
        if passed == step:
            raise Crash

    return hook


def test_letters_are_sent_once_whatever_step_is_the_last(world: LetterWorld) -> None:
    letters = [letter(number, topic=world.topic, timestamp_ms=NOW_MS + number) for number in range(4)]
    world.write_letters(renumbered(letters))
    for step in STEPS:
        if step != COMMITTED:
            with pytest.raises(Crash):
                replay(world.project, origin=None, version="v1", dry_run=False, hook=crash_at(step))
    assert world.sent() == []
    with pytest.raises(Crash):
        replay(world.project, origin=None, version="v1", dry_run=False, hook=crash_at(COMMITTED))
    assert replay(world.project, origin=None, version="v1", dry_run=False).sent == {}
    assert [(record.value, record.timestamp) for record in world.sent()] == [
        (b"%d" % number, NOW_MS + number) for number in range(4)
    ]


def test_the_pointer_moves_at_once(world: LetterWorld) -> None:
    flows = world.project.running_flows()
    with Cluster(world.settings) as cluster:
        publish_first(cluster, world.project, "v1", flows)
        world.create(f"{world.topic}.out.v2")
        assert [each.new.version for each in move(cluster, world.project, "v2", flows)] == ["v2"]
        assert pointer.get(cluster, "orders").topic("counts") == f"{world.topic}.out.v2"
        move(cluster, world.project, "v1", flows)
        found = pointer.get(cluster, "orders")
    assert found.topic("counts") == f"{world.topic}.out"
    assert [each.topic for each in found.left["counts"]] == [f"{world.topic}.out", f"{world.topic}.out.v2"]


def test_batches_end_at_one_time_in_all_partitions(world: LetterWorld) -> None:
    """With transactions, whose markers have another time than the records around them, and times out of order."""
    begin = NOW_MS - 3_600_000
    dead = f"{world.topic}.dead"
    for partition, seconds in (0, (0, 2, 4, 30, 5, 31)), (1, (1, 3, 29, 32)):
        for second in seconds:
            world.write_letters([Record(0, begin + 1000 * second, None, b"%d" % second)], partition=partition)
    options = {"kafka.bootstrap.servers": world.bootstrap, "subscribe": dead, "startingOffsets": "earliest"}
    stream = Stream(stream_options({**options, "maxTimePerTrigger": "10s", "kafka.isolation.level": "read_committed"}))
    try:
        at = stream.begin().as_json()
        ends = []
        for _ in range(3):
            at = stream.end_of_batch(at, everything=False)
            ends.append([parse(at).partitions[place] for place in sorted(parse(at).partitions)])
    finally:
        stream.close()
    # Each record is followed by its marker.
    assert ends[0] == [6, 4]
    assert ends[1] == [12, 8]
    assert ends[2] == ends[1]
