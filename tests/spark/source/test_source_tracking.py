"""The stream's reader of Spark 4.0 and 4.1, called as these do it: without a start, and in another order."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from source_world import numbered, write

from barnabas.spark.errors import UserError
from barnabas.spark.options.source import stream_options
from barnabas.spark.source.tracking_stream_reader import TrackingStreamReader
from barnabas.testing import Broker

Reader = Callable[..., "Process"]


class Process:
    """A reader in a process of its own; offsets go to it and come back as text."""

    def __init__(self, servers: str, topic: str, **options: str) -> None:
        given = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest", **options}
        self.reader = TrackingStreamReader(stream_options(given), ("value",), "digest")

    def initial(self) -> Any:
        return _text(self.reader.initialOffset())

    def latest(self) -> Any:
        return _text(self.reader.latestOffset())

    def rows(self, start: Any, end: Any) -> list[bytes]:
        tasks = self.reader.partitions(start, end)
        return [value.as_py() for task in tasks for batch in self.reader.read(task) for value in batch.column(0)]

    def resume(self, end: Any) -> None:
        """What Spark does first if there is a checkpoint."""
        assert self.reader.partitions(end, end) == []


def _text(offsets: dict[str, Any]) -> Any:
    return json.loads(json.dumps(offsets))


@pytest.fixture
def topic(broker: Broker, barnabas_topic: str) -> str:
    broker.create_topic(barnabas_topic)
    write(broker.bootstrap_servers, barnabas_topic, numbered(0, 10))
    return barnabas_topic


@pytest.fixture
def put(broker: Broker, topic: str) -> Callable[[list[bytes]], None]:
    return lambda values: write(broker.bootstrap_servers, topic, values)


@pytest.fixture
def process(broker: Broker, topic: str) -> Iterator[Reader]:
    made: list[Process] = []

    def start(**options: str) -> Process:
        made.append(Process(broker.bootstrap_servers, topic, **options))
        return made[-1]

    yield start
    for one in made:
        one.reader.stop()


def test_a_new_query_is_limited_from_its_first_batch_on(process: Reader) -> None:
    spark = process(maxOffsetsPerTrigger="4")
    first = spark.latest()
    assert spark.rows(spark.initial(), first) == numbered(0, 4)
    second = spark.latest()
    assert spark.rows(first, second) == numbered(4, 4)
    third = spark.latest()
    assert spark.rows(second, third) == numbered(8, 2)
    assert spark.latest() == third


def test_a_restarted_query_goes_on_after_its_last_batch(process: Reader) -> None:
    before = process(maxOffsetsPerTrigger="4")
    first = before.latest()
    after = process(maxOffsetsPerTrigger="3")
    after.resume(first)
    assert after.rows(first, after.latest()) == numbered(4, 3)


def test_a_batch_is_repeated_with_the_same_records(process: Reader, put: Callable[[list[bytes]], None]) -> None:
    """The first one, of a query that began at the end."""
    before = process(startingOffsets="latest")
    begin = before.latest()
    put(numbered(10, 3))
    before.reader.stop()
    after = process(startingOffsets="latest")
    after.resume(begin)
    assert after.rows(after.initial(), begin) == []
    end = after.latest()
    assert after.rows(begin, end) == numbered(10, 3)
    put(numbered(13, 1))
    again = process(startingOffsets="latest")
    again.resume(end)
    assert again.rows(begin, end) == numbered(10, 3)
    assert again.rows(end, again.latest()) == numbered(13, 1)


def test_sparks_wrapper_for_available_now_is_refused(process: Reader) -> None:
    """It takes the end before it says where the query is, and would read records again."""
    end = process().latest()
    wrapped = process()
    wrapped.latest()
    with pytest.raises(UserError, match=r"triggerAvailableNowWrapper\.enabled"):
        wrapped.resume(end)
