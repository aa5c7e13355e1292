"""Finding topics, leaders and offsets, with a broker that restarts."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from barnabas.client.cluster import Cluster
from barnabas.client.errors import CannotConnect, ClientError, Refused, UnsupportedApi
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.properties import client_settings
from barnabas.client.settings import ClientSettings
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=(CreatableTopic(name=name, num_partitions=1, replication_factor=1),))


@pytest.fixture
def killable_broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        yield running


def test_topics_and_their_leaders(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("one", partitions=2)
    assert set(cluster.topics(["one", "none-such"])) == {"one"}
    assert "one" in cluster.topics()
    assert cluster.topics(()) == {}
    assert len(cluster.topics(["one"])["one"].partitions) == 2
    assert cluster.leader("one", 1) == 1
    assert cluster.by_leader([("one", 0), ("one", 7)]) == {1: [("one", 0)], None: [("one", 7)]}


def test_what_does_not_exist_has_no_leader(broker: Broker, settings: ClientSettings) -> None:
    broker.create_topic("short", partitions=1)
    with Cluster(settings, retry_for_s=0) as cluster:
        for topic, partition in (("none-such", 0), ("short", 1)):
            with pytest.raises(Refused, match=f"there is no partition {topic}-{partition}; check the name") as caught:
                cluster.leader(topic, partition)
            assert caught.value.code is ErrorCode.unknown_topic_or_partition


def test_a_topic_that_is_just_being_made_is_waited_for(broker: Broker, cluster: Cluster) -> None:
    made = threading.Timer(0.2, broker.create_topic, ["soon"])
    made.start()
    try:
        assert cluster.leader("soon", 0) == 1
    finally:
        made.join()


def test_offsets_by_time(broker: Broker, cluster: Cluster) -> None:
    broker.create_topic("timed", partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for index in range(5):
        producer.produce("timed", b"x", partition=0, timestamp=1000 + index)
    assert producer.flush(30) == 0
    both = [("timed", 0), ("timed", 1)]
    assert [each.offset for each in cluster.offsets(both, LATEST).values()] == [5, 0]
    assert [each.offset for each in cluster.offsets(both, EARLIEST).values()] == [0, 0]
    found = cluster.offsets(both, {("timed", 0): 1003, ("timed", 1): 1003})
    assert (found["timed", 0].offset, found["timed", 0].timestamp) == (3, 1003)
    assert found["timed", 1].offset == -1
    missing = cluster.offsets([("timed", 9)], LATEST)["timed", 9]
    assert (missing.offset, missing.error) == (-1, ErrorCode.unknown_topic_or_partition)


def test_versions_are_the_newest_that_both_know(cluster: Cluster) -> None:
    assert cluster.version("fetch") >= 17
    assert cluster.version("fetch", newest=12) == 12
    assert cluster.version("offset_fetch") == 9  # the last in which topics have names
    assert cluster.serves("metadata")
    assert cluster.api_versions(1).api_keys
    with pytest.raises(UnsupportedApi, match="serves no version of fetch"):
        cluster.version("fetch", newest=1)


def test_calls_do_not_mix_with_requests_under_way(cluster: Cluster) -> None:
    cluster.topics(())
    connection = cluster.connection(1)
    version = cluster.version("metadata", node=1)
    connection.send("metadata", version, MetadataRequest(topics=()))
    assert cluster.brokers().brokers  # on a second connection
    assert cluster.call("metadata", MetadataRequest(topics=()), node=1).brokers
    assert cluster.connection(1) is connection
    assert connection.receive().brokers
    assert cluster.connection(1) is connection


def test_a_broker_that_was_killed_is_found_again(killable_broker: Broker) -> None:
    killable_broker.create_topic("kept")
    with Cluster(client_settings({"bootstrap.servers": killable_broker.bootstrap_servers})) as cluster:
        assert cluster.leader("kept", 0) == 1
        connection = cluster.connection(1)
        killable_broker.kill()
        back = threading.Timer(0.3, killable_broker.start)
        back.start()
        try:
            assert cluster.offsets([("kept", 0)], LATEST)["kept", 0].error is ErrorCode.none
        finally:
            back.join()
        assert cluster.connection(1) is not connection
        assert cluster.leader("kept", 0, refresh=True) == 1


def test_a_connection_that_died_meanwhile_is_noticed_before_it_is_used(killable_broker: Broker) -> None:
    with Cluster(client_settings({"bootstrap.servers": killable_broker.bootstrap_servers}), retry_for_s=0) as cluster:
        cluster.topics(())
        killable_broker.kill()
        killable_broker.start()
        # Sent once, as this request must not be repeated; and answered, as the old connection was not used.
        (made,) = cluster.call("create_topics", create("made")).topics
        assert made.error_code == ErrorCode.none


def test_a_paused_broker_is_told_and_found_again(killable_broker: Broker) -> None:
    properties = {"bootstrap.servers": killable_broker.bootstrap_servers, "request.timeout.ms": "200"}
    with Cluster(client_settings(properties), retry_for_s=0) as cluster:
        cluster.topics(())
        killable_broker.pause()
        with pytest.raises(ClientError, match="silent for too long"):
            cluster.topics(())
        killable_broker.resume()
    with Cluster(client_settings({"bootstrap.servers": killable_broker.bootstrap_servers})) as cluster:
        assert cluster.topics(()) == {}


def test_patience_ends(killable_broker: Broker) -> None:
    with Cluster(client_settings({"bootstrap.servers": killable_broker.bootstrap_servers}), retry_for_s=0.5) as cluster:
        killable_broker.kill()
        with pytest.raises(CannotConnect, match="cannot reach"):
            cluster.topics()
