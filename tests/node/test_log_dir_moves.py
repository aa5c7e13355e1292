"""Partitions move between log directories: during writes, across restarts and kills, and moves that are refused."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plain_requests import produce, read_all

from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

VALUES = [b"%05d" % number for number in range(300)]
SMALL_SEGMENTS = {"internal.segment.bytes": "1500"}
PACE = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.fixture
def directories(tmp_path: Path) -> list[str]:
    return [str(tmp_path / name) for name in ("one", "two")]


@pytest.fixture
def broker(directories: list[str]) -> Iterator[Broker]:
    with Broker(data_dir=",".join(directories)) as running:
        yield running


def move(client: Client, path: str, topic: str, *partitions: int) -> list[ErrorCode]:
    wanted = AlterReplicaLogDir(path=path, topics=(AlterReplicaLogDirTopic(name=topic, partitions=partitions),))
    answer = client.call("alter_replica_log_dirs", 2, AlterReplicaLogDirsRequest(dirs=(wanted,)))
    return [each.error_code for each in answer.results[0].partitions]


def places(client: Client) -> set[tuple[str, int, str, bool]]:
    """Topic, partition, directory, and whether it is a future replica."""
    answer = client.call("describe_log_dirs", 5, DescribeLogDirsRequest(topics=None))
    return {
        (topic.name, each.partition_index, directory.log_dir, each.is_future_key)
        for directory in answer.results
        for topic in directory.topics
        for each in topic.partitions
    }


def home(client: Client, topic: str = "t") -> str:
    (found,) = [path for name, index, path, future in places(client) if (name, index, future) == (topic, 0, False)]
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def other(directories: list[str], path: str) -> str:
    return next(each for each in directories if each != path)


def set_pace(client: Client, bytes_per_second: int) -> None:
    config = AlterableConfig(name=PACE, config_operation=0, value=str(bytes_per_second))
    resource = AlterConfigsResource(resource_type=4, resource_name="", configs=(config,))
    answer = client.call("incremental_alter_configs", 1, IncrementalAlterConfigsRequest(resources=(resource,)))
    assert answer.responses[0].error_code is ErrorCode.none


def values(client: Client, topic: str = "t") -> list[bytes | None]:
    return [record.value for record in read_all(client, topic)]


@pytest.mark.parametrize("config", [{}, SMALL_SEGMENTS, {"flush.messages": "1"}])
def test_a_partition_moves_while_it_is_written(broker: Broker, directories: list[str], config: dict[str, str]) -> None:
    with broker.connect() as client:
        broker.create_topic("t", config=config)
        for value in VALUES[:100]:
            produce(client, "t", [value])
        source = home(client)
        target = other(directories, source)
        assert move(client, target, "t", 0) == [ErrorCode.none]
        for value in VALUES[100:200]:
            produce(client, "t", [value])
        wait_for(lambda: home(client) == target)
        produce(client, "t", VALUES[200:])
        assert values(client) == VALUES
        wait_for(lambda: not os.path.exists(f"{source}/t-0"))
        assert os.path.isdir(f"{target}/t-0")
        assert not any("-future" in name for name in os.listdir(target))
    broker.restart()
    with broker.connect() as client:
        assert home(client) == target
        assert values(client) == VALUES
        # And back again.
        assert move(client, source, "t", 0) == [ErrorCode.none]
        wait_for(lambda: home(client) == source)
        produce(client, "t", [b"more"])
        assert values(client) == [*VALUES, b"more"]


def test_an_idempotent_producer_goes_on_after_a_move(broker: Broker, directories: list[str]) -> None:
    with broker.connect() as client:
        broker.create_topic("t")
        produce(client, "t", [b"0"], producer_id=7, base_sequence=0)
        target = other(directories, home(client))
        move(client, target, "t", 0)
        wait_for(lambda: home(client) == target)
        produce(client, "t", [b"1"], producer_id=7, base_sequence=1)
        produce(client, "t", [b"1"], producer_id=7, base_sequence=1)  # a retry
        assert values(client) == [b"0", b"1"]


def test_where_a_partition_cannot_go(broker: Broker, directories: list[str]) -> None:
    with broker.connect() as client:
        broker.create_topic("t", partitions=2)
        here = home(client)
        assert move(client, here, "t", 0, 9) == [ErrorCode.none, ErrorCode.unknown_topic_or_partition]
        assert move(client, here, "nope", 0) == [ErrorCode.unknown_topic_or_partition]
        assert move(client, here, "__cluster_metadata", 0) == [ErrorCode.unknown_topic_or_partition]
        assert move(client, "/nope", "t", 0) == [ErrorCode.log_dir_not_found]
        assert move(client, "", "t", 0) == [ErrorCode.log_dir_not_found]
        assert home(client) == here
        long = "x" * 240
        broker.create_topic(long)
        assert move(client, other(directories, home(client, long)), long, 0) == [ErrorCode.invalid_topic_exception]


def test_a_move_is_shown_and_called_off(broker: Broker, directories: list[str]) -> None:
    with broker.connect() as client:
        broker.create_topic("t", config=SMALL_SEGMENTS)
        broker.create_topic("u", config=SMALL_SEGMENTS)
        for topic in ("t", "u"):
            for value in VALUES[:100]:
                produce(client, topic, [value])
        set_pace(client, 1)
        targets = {topic: other(directories, home(client, topic)) for topic in ("t", "u")}
        for topic, target in targets.items():
            assert move(client, target, topic, 0) == [ErrorCode.none]
            assert (topic, 0, target, True) in places(client)
            assert any(name.startswith(f"{topic}-0.") for name in os.listdir(target))
        for topic, target in targets.items():
            assert move(client, other(directories, target), topic, 0) == [ErrorCode.none]
            assert (topic, 0, target, True) not in places(client)
        for directory in directories:
            wait_for(lambda directory=directory: not any("-future" in name for name in os.listdir(directory)))
        set_pace(client, 2**62)
        assert values(client) == VALUES[:100]


def test_a_topic_that_is_deleted_takes_its_move_along(broker: Broker, directories: list[str]) -> None:
    with broker.connect() as client:
        broker.create_topic("t", config=SMALL_SEGMENTS)
        produce(client, "t", VALUES)
        produce(client, "t", VALUES)
        target = other(directories, home(client))
        set_pace(client, 100_000)
        assert move(client, target, "t", 0) == [ErrorCode.none]
        client.call("delete_topics", 6, DeleteTopicsRequest(topic_names=()))
        deleted = client.call("delete_topics", 5, DeleteTopicsRequest(topic_names=("t",)))
        assert deleted.responses[0].error_code is ErrorCode.none
        wait_for(lambda: not any("-future" in name for name in os.listdir(target)))
        assert not any(topic == "t" for topic, *_ in places(client))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_move_that_was_interrupted_goes_on_at_the_next_start(directories: list[str], end: str) -> None:
    with Broker(process=True, data_dir=",".join(directories), properties={PACE: "1"}) as broker:
        broker.create_topic("t", config=SMALL_SEGMENTS)
        with broker.connect() as client:
            for value in VALUES[:100]:
                produce(client, "t", [value])
            target = other(directories, home(client))
            assert move(client, target, "t", 0) == [ErrorCode.none]
        if end == "stop":
            broker.stop()
        else:
            broker.kill()
        broker.properties[PACE] = str(2**62)
        broker.start()
        with broker.connect() as client:
            wait_for(lambda: home(client) == target)
            assert values(client) == VALUES[:100]
