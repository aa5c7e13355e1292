"""Requests of one connection take effect in the order in which they were sent, whatever they are.

A client may send several before it reads the first answer. The answers must be the same as if it had waited for each;
only a waiting fetch may see later effects.
"""

import datetime
import itertools
from collections.abc import Iterator

import pipelined
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.testing import Broker
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from property_effort import examples

SECONDS_20 = datetime.timedelta(seconds=20)
GROUP, TRANSACTION = 0, 1
WORLDS = itertools.count()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker, broker.connect() as client:
        for kind in (GROUP, TRANSACTION):  # makes the internal topics
            client.call("find_coordinator", 3, FindCoordinatorRequest(key="any", key_type=kind))
        yield broker


def address(broker: Broker) -> tuple[str, int]:
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    return host, int(port)


def check(broker: Broker, *steps: pipelined.Step) -> None:
    world = next(WORLDS)
    with broker.connect() as client:
        expected = pipelined.one_by_one(client, f"one-by-one-{world}-", steps)
    assert pipelined.in_one_write(address(broker), f"in-one-write-{world}-", steps) == expected


T = "t"
CREATED = pipelined.create_topic(T)
PAIRS = {
    "DeleteRecords, ListOffsets": (
        pipelined.produce(T, count=3),
        pipelined.delete_records(T, 2),
        pipelined.list_offsets(T, pipelined.EARLIEST),
    ),
    "CreateTopics, Metadata": (pipelined.create_topic("u"), pipelined.metadata("u")),
    "CreatePartitions, Metadata": (pipelined.grow(T, 3), pipelined.metadata(T)),
    "IncrementalAlterConfigs, DescribeConfigs": (pipelined.set_retention(T, 1234), pipelined.describe_retention(T)),
    "DeleteTopics, Metadata": (pipelined.delete_topic(T), pipelined.metadata(T)),
    "OffsetCommit, OffsetFetch": (pipelined.commit("g", T, 1), pipelined.committed("g", T)),
    "OffsetCommit, DeleteGroups, OffsetFetch": (
        pipelined.commit("g", T, 1),
        pipelined.delete_group("g"),
        pipelined.committed("g", T),
    ),
    "ConsumerGroupHeartbeat, ConsumerGroupDescribe": (
        pipelined.heartbeat("g", "a", 0, T),
        pipelined.describe_group("g"),
    ),
    "InitProducerId, InitProducerId": (pipelined.init_producer("x"), pipelined.init_producer("x")),
}


@pytest.mark.parametrize("steps", PAIRS.values(), ids=PAIRS)
def test_a_request_does_not_overtake_an_earlier_one(broker: Broker, steps: tuple[pipelined.Step, ...]) -> None:
    for _ in range(5):
        check(broker, CREATED, *steps)


def test_who_asks_behind_a_produce_that_waits_for_the_disk_finds_its_records(broker: Broker) -> None:
    for question in (pipelined.list_offsets(T, pipelined.LATEST), pipelined.fetch(T)):
        check(broker, pipelined.create_topic(T, synced=True), *[pipelined.produce(T, count=2)] * 3, question, question)


def test_a_waiting_fetch_lets_a_produce_by_that_ends_its_wait(broker: Broker) -> None:
    steps = (CREATED, pipelined.fetch(T, wait=SECONDS_20), pipelined.produce(T), pipelined.metadata(T))
    answers = pipelined.in_one_write(address(broker), f"waiting-{next(WORLDS)}-", steps)
    assert "high_watermark=1" in answers[1]


def test_a_client_that_sends_more_than_the_buffer_holds_behind_a_request_at_work_is_served(broker: Broker) -> None:
    many = [pipelined.create_topic("u"), *[pipelined.produce(T, count=3)] * 2000, pipelined.metadata("u")]
    check(broker, CREATED, *many)


@settings(max_examples=examples(40))
@given(steps=st.lists(pipelined.STEPS, min_size=2, max_size=14))
def test_pipelined_requests_are_answered_as_if_sent_one_by_one(broker: Broker, steps: list[pipelined.Step]) -> None:
    check(broker, pipelined.create_topic(T, synced=True), *steps)
