"""Answers of a fetch session, compared with full fetches: they hold a partition exactly if something changed there."""

import datetime
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from barnabas.records.record import Record, build_batch
from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PARTITIONS = 3
TOPICS = itertools.count()
VERSION = 12
ISOLATION = {"read_uncommitted": 0, "read_committed": 1}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


class Reader:
    """A consumer with a session. It knows the last answer for each partition."""

    def __init__(self, client: Client, topic: str, isolation_level: int) -> None:
        self._client = client
        self._topic = topic
        self._isolation_level = isolation_level
        self._session = (0, 0)
        self.offsets = dict.fromkeys(range(PARTITIONS), 0)
        self.answered: dict[int, tuple[int, int] | None] = {}

    def full(self) -> dict[int, Any]:
        return self._fetch(self.offsets, (0, -1))

    def incremental(self, moved: list[int]) -> dict[int, Any]:
        """The first fetch names all partitions, later ones those that have `moved`."""
        epoch = self._session[1]
        named = self.offsets if epoch == 0 else {index: self.offsets[index] for index in moved}
        return self._fetch(named, self._session)

    def _fetch(self, offsets: dict[int, int], session: tuple[int, int]) -> dict[int, Any]:
        asked = tuple(
            FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
            for index, offset in offsets.items()
        )
        answer = self._client.call(
            "fetch",
            VERSION,
            FetchRequest(
                max_wait=datetime.timedelta(0),
                min_bytes=0,
                max_bytes=1 << 20,
                isolation_level=self._isolation_level,
                session_id=session[0],
                session_epoch=session[1],
                topics=(FetchTopic(topic=self._topic, partitions=asked),) if asked else (),
            ),
        )
        assert answer.error_code == 0
        if session[1] >= 0:
            self._session = (answer.session_id, session[1] + 1)
        return {each.partition_index: each for topic in answer.responses for each in topic.partitions}


def produce(client: Client, topic: str, index: int) -> None:
    data = PartitionProduceData(index=index, records=build_batch([Record(value=b"v")] * 2))
    client.call(
        "produce",
        VERSION,
        ProduceRequest(acks=-1, topic_data=(TopicProduceData(name=topic, partition_data=(data,)),)),
    )


def delete_all(client: Client, topic: str, index: int) -> None:
    deleted = DeleteRecordsTopic(name=topic, partitions=(DeleteRecordsPartition(partition_index=index, offset=-1),))
    client.call("delete_records", 2, DeleteRecordsRequest(topics=(deleted,)))


def change_the_image(client: Client, topic: str, index: int) -> None:
    config = AlterableConfig(name="retention.ms", value=str(10**9 + index))
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=(config,))
    client.call("alter_configs", 2, AlterConfigsRequest(resources=(resource,)))


CHANGES = {"produce": produce, "delete": delete_all, "configure": change_the_image}
STEPS = [*CHANGES, "read", "nothing"]


@given(
    steps=st.lists(
        st.tuples(st.sampled_from([*CHANGES, "read", "nothing"]), st.integers(0, PARTITIONS - 1)), max_size=25
    ),
    isolation=st.sampled_from(list(ISOLATION)),
)
def test_a_partition_is_in_an_answer_exactly_if_something_changed(
    broker: Broker, steps: list[tuple[str, int]], isolation: str
) -> None:
    topic = f"session-{next(TOPICS)}"
    broker.create_topic(topic, PARTITIONS)
    with broker.connect() as client:
        reader = Reader(client, topic, ISOLATION[isolation])
        moved: list[int] = []
        for name, index in [("nothing", 0), *steps, ("nothing", 0)]:
            if name in CHANGES:
                CHANGES[name](client, topic, index)
            expected = reader.full()
            answer = reader.incremental(moved)
            for partition, now in expected.items():
                facts = (now.high_watermark, now.log_start_offset)
                must_be_there = bool(now.records) or now.error_code != 0 or reader.answered.get(partition) != facts
                assert (partition in answer) == must_be_there
                if must_be_there:
                    assert answer[partition] == now
                reader.answered[partition] = facts if now.error_code == 0 else None
                event(f"answered: {must_be_there}")
            moved = [index] if name == "read" else []
            reader.offsets[index] = expected[index].high_watermark if name == "read" else reader.offsets[index]
