"""Offsets in a group without members, written and read back, in the newest versions and in old ones."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.group_offsets import Committed, commit_offsets, fetch_offsets
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode


def test_what_was_committed_is_found_again(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("kept", partitions=3)
    commit_offsets(cluster, "kept-group", {("kept", 0): (7, "batch 3"), ("kept", 2): (0, "")})
    assert fetch_offsets(cluster, "kept-group", None) == {
        ("kept", 0): Committed(7, "batch 3", -1),
        ("kept", 2): Committed(0, "", -1),
    }
    asked = [("kept", 0), ("kept", 1)]
    assert fetch_offsets(cluster, "kept-group", asked, require_stable=True) == {
        ("kept", 0): Committed(7, "batch 3", -1)
    }


def test_a_real_consumer_sees_them(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("seen")
    commit_offsets(cluster, "seen-group", {("seen", 0): (42, "noted")})
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "seen-group"})
    try:
        (found,) = consumer.committed([TopicPartition("seen", 0)], timeout=30)
        assert found.offset == 42
        consumer.commit(offsets=[TopicPartition("seen", 0, 43)], asynchronous=False)
    finally:
        consumer.close()
    assert fetch_offsets(cluster, "seen-group", [("seen", 0)])["seen", 0].offset == 43


def test_a_group_that_never_was_has_nothing(cluster: Cluster) -> None:
    assert fetch_offsets(cluster, "never-was", None) == {}
    assert fetch_offsets(cluster, "never-was", [("nor-this", 0)]) == {}
    commit_offsets(cluster, "never-was", {})
    assert fetch_offsets(cluster, "never-was", None) == {}


def test_a_partition_that_is_not_there_is_named(cluster: Cluster) -> None:
    with pytest.raises(Refused, match=r"no-such-topic-4 .* a-group") as caught:
        commit_offsets(cluster, "a-group", {("no-such-topic", 4): (1, "")})
    assert caught.value.code is ErrorCode.unknown_topic_or_partition


def test_a_note_that_is_too_long_is_refused(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("noted")
    with pytest.raises(Refused) as caught:
        commit_offsets(cluster, "noted-group", {("noted", 0): (1, "x" * 5000)})
    assert caught.value.code is ErrorCode.offset_metadata_too_large
