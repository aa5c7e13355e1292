"""`barnabas.testing.Broker`: the same broker in a thread and in a process, and a process that can be killed."""

import os
import socket
from pathlib import Path

import pytest

from barnabas.testing import Broker
from barnabas.testing.ports import is_free, pick_free_port
from barnabas.testing.runner import BrokerDidNotStart
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def partitions_of(broker: Broker, topic: str) -> int:
    with broker.connect() as client:
        response = client.call("metadata", 12, MetadataRequest(topics=(MetadataRequestTopic(name=topic),)))
    (found,) = response.topics
    return len(found.partitions)


@pytest.mark.parametrize("process", [False, True])
def test_it_serves_keeps_its_data_over_a_restart_and_leaves_nothing(process: bool) -> None:
    with Broker(process=process) as broker:
        broker.create_topic("orders", partitions=3, config={"retention.ms": "1000"})
        assert broker.bootstrap_servers == f"127.0.0.1:{broker.port}"
        port, data_dir = broker.port, broker.data_dir
        broker.restart()
        assert (broker.port, broker.data_dir) == (port, data_dir)
        assert partitions_of(broker, "orders") == 3
        assert broker.is_running()
    assert not broker.is_running()
    assert not os.path.exists(data_dir)
    assert is_free(port)


def test_a_data_directory_of_ones_own_stays(tmp_path: Path) -> None:
    for expected in (0, 2):
        with Broker(data_dir=tmp_path / "data", properties={"auto.create.topics.enable": "false"}) as broker:
            assert partitions_of(broker, "orders") == expected
            if not expected:
                broker.create_topic("orders", partitions=2)
    assert (tmp_path / "data").is_dir()


@pytest.mark.parametrize(("properties", "partitions"), [({}, 5), ({"offsets.topic.num.partitions": 2}, 2)])
def test_internal_topics_are_small_unless_the_test_says_otherwise(properties: dict[str, int], partitions: int) -> None:
    with Broker(properties=properties) as broker:
        with broker.connect() as client:
            client.call("find_coordinator", 3, FindCoordinatorRequest(key="g"))
        assert partitions_of(broker, "__consumer_offsets") == partitions


def test_two_brokers_side_by_side() -> None:
    with Broker() as one, Broker() as two:
        one.create_topic("only-here")
        assert one.port != two.port
        with pytest.raises(RuntimeError, match="already exists"):
            one.create_topic("only-here")
        two.create_topic("only-here")


@pytest.mark.crash
def test_a_killed_broker_comes_back_with_what_it_acknowledged() -> None:
    with Broker(process=True) as broker:
        broker.create_topic("orders", partitions=2)
        pid = broker.pid
        broker.kill()
        assert not broker.is_running()
        with pytest.raises(ConnectionRefusedError):
            broker.connect()
        broker.start()
        assert broker.pid != pid
        assert partitions_of(broker, "orders") == 2


@pytest.mark.crash
def test_a_paused_broker_answers_when_it_goes_on() -> None:
    with Broker(process=True) as broker, broker.connect(timeout_s=0.2) as client:
        client.call("api_versions", 0, ApiVersionsRequest())
        broker.pause()
        client.send("api_versions", 0, ApiVersionsRequest())
        with pytest.raises(TimeoutError):
            client.receive_frame()
        broker.resume()
        with broker.connect() as patient:
            assert patient.call("api_versions", 0, ApiVersionsRequest()).api_keys


@pytest.mark.crash
def test_a_paused_broker_can_be_stopped() -> None:
    with Broker(process=True) as broker:
        broker.pause()
    assert not broker.is_running()


@pytest.mark.parametrize("process", [False, True])
def test_properties_may_be_numbers_and_truths(process: bool) -> None:
    properties = {"num.partitions": 3, "log.retention.ms": 1000, "auto.create.topics.enable": False}
    with Broker(process=process, properties=properties) as broker:
        broker.create_topic("orders", partitions=-1)
        assert partitions_of(broker, "orders") == 3
        assert partitions_of(broker, "never-made") == 0


@pytest.mark.parametrize("process", [False, True])
def test_a_broker_that_cannot_start_says_why(process: bool) -> None:
    broker = Broker(process=process, properties={"num.partitions": "many"})
    with pytest.raises(BrokerDidNotStart, match=r"num\.partitions"), broker:
        pass
    assert not os.path.exists(os.path.dirname(broker.data_dir))


@pytest.mark.parametrize("call", ["kill", "pause", "resume"])
def test_a_broker_in_a_thread_has_no_process_to_kill(barnabas_broker: Broker, call: str) -> None:
    with pytest.raises(RuntimeError, match=r"process=True"):
        getattr(barnabas_broker, call)()


def test_ports_lie_below_those_of_outgoing_connections() -> None:
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    port = pick_free_port()
    assert port < max(first, 11_000)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        assert not is_free(port)


def test_every_test_gets_a_topic_name_that_kafka_accepts(barnabas_topic: str, barnabas_broker: Broker) -> None:
    barnabas_broker.create_topic(barnabas_topic)
    assert partitions_of(barnabas_broker, barnabas_topic) == 1
