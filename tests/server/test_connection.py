"""One connection: order, bounds, and invalid bytes."""

import datetime
import socket
import struct
from collections.abc import Iterator

import pytest

from barnabas.records.batch import split_batches
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing import Broker
from barnabas.testing.client import Client, ConnectionClosed, request_header
from barnabas.wire.api_table import ADVERTISED_MIN, APIS, TELEMETRY_KEYS
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SECONDS_5 = datetime.timedelta(seconds=5)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(properties={"socket.request.max.bytes": "2000000"}) as broker:
        yield broker


def api_versions() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name="test", client_software_version="1")


def produce(topic: str, value: bytes, *, acks: int = -1) -> ProduceRequest:
    batch = build_batch([Record(timestamp=1, value=value)])
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=batch),))
    return ProduceRequest(acks=acks, timeout=SECONDS_5, topic_data=(data,))


def long_poll(topic: str, *, offset: int, wait: datetime.timedelta) -> FetchRequest:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
    return FetchRequest(max_wait=wait, min_bytes=1, topics=(FetchTopic(topic=topic, partitions=(asked,)),))


def is_alive(broker: Broker) -> bool:
    with broker.connect() as client:
        return bool(client.call("api_versions", 4, api_versions()).error_code == ErrorCode.none)


def test_api_versions_are_those_of_the_table(broker: Broker) -> None:
    with broker.connect() as client:
        for version in range(5):
            answer = client.call("api_versions", version, api_versions())
            versions = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
            assert versions == {
                api.key: (ADVERTISED_MIN.get(api.key, api.version_min), api.version_max)
                for api in APIS
                if api.key not in TELEMETRY_KEYS  # nobody has subscribed to metrics
            }


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(broker: Broker) -> None:
    with broker.connect() as client:
        header = struct.pack(">hhih", 18, 99, 7, -1) + b"\x00"
        client.send_frame(header + encode_request("api_versions", 4, api_versions()))
        payload = client.receive_frame()
        assert payload[:4] == struct.pack(">i", 7)
        answer = decode_response("api_versions", 0, payload, 4)
        assert answer.error_code == ErrorCode.unsupported_version
        assert {key.api_key for key in answer.api_keys} == {api.key for api in APIS} - TELEMETRY_KEYS
        assert client.call("api_versions", 4, api_versions()).error_code == ErrorCode.none


def test_a_nameless_client_software_is_refused(broker: Broker) -> None:
    with broker.connect() as client:
        assert client.call("api_versions", 4, ApiVersionsRequest()).error_code == ErrorCode.invalid_request


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(struct.pack(">i", -1), id="negative size"),
        pytest.param(struct.pack(">i", 0), id="empty frame"),
        pytest.param(struct.pack(">i", 2**31 - 1), id="huge size"),
        pytest.param(struct.pack(">i", 2_000_001), id="one byte too many"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="HTTP"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(struct.pack(">ihhih", 10, 999, 0, 1, -1), id="unknown API"),
        pytest.param(struct.pack(">ihhih", 10, -5, 0, 1, -1), id="negative API"),
        pytest.param(struct.pack(">ihhih", 10, 3, 99, 1, -1), id="unknown version"),
        pytest.param(struct.pack(">ihhih", 10, 0, 2, 1, -1), id="a Produce that is advertised but gone"),
        pytest.param(struct.pack(">ihhih", 10, 3, 12, 1, 3000), id="client id past the frame"),
        pytest.param(struct.pack(">ihhih", 16, 3, 12, 1, -1) + b"\xff\xff\xff\xff\x0f\x00", id="endless tagged fields"),
        pytest.param(struct.pack(">ihhih", 14, 3, 1, 1, -1) + b"\x7f\xff\xff\xff", id="more topics than bytes"),
        pytest.param(struct.pack(">ihhih", 14, 3, 1, 1, -1) + b"junk", id="a body that is none"),
    ],
)
def test_what_cannot_be_answered_ends_the_connection_and_nothing_else(broker: Broker, data: bytes) -> None:
    with broker.connect() as client:
        client.send_bytes(data)
        with pytest.raises((ConnectionClosed, ConnectionResetError)):
            client.receive_frame()
    assert is_alive(broker)


def test_a_request_may_arrive_byte_by_byte_and_two_in_one_piece(broker: Broker) -> None:
    body = encode_request("api_versions", 4, api_versions())
    frames = b""
    for correlation_id in (1, 2, 3):
        payload = request_header("api_versions", 4, correlation_id, "slow") + body
        frames += struct.pack(">i", len(payload)) + payload
    with broker.connect() as client:
        first_two = frames[: 2 * len(frames) // 3]
        for position in range(len(first_two)):
            client.send_bytes(first_two[position : position + 1])
        client.send_bytes(frames[len(first_two) :])
        assert [client.receive_frame()[:4] for _ in range(3)] == [struct.pack(">i", number) for number in (1, 2, 3)]


def test_answers_leave_in_the_order_of_requests_even_if_the_first_must_wait(broker: Broker) -> None:
    broker.create_topic("ordered")
    with broker.connect() as client, broker.connect() as other:
        client.send("fetch", 12, long_poll("ordered", offset=0, wait=datetime.timedelta(seconds=20)))
        client.send("api_versions", 4, api_versions())
        client.send("metadata", 12, MetadataRequest(topics=()))
        other.call("produce", 12, produce("ordered", b"wakes the fetch"))
        fetched = client.receive()
        assert fetched.responses[0].partitions[0].records
        assert client.receive().api_keys
        assert client.receive().brokers


def test_pipelined_produces_keep_their_order(broker: Broker) -> None:
    broker.create_topic("pipelined")
    with broker.connect() as client:
        for number in range(300):
            client.send("produce", 12, produce("pipelined", b"%d" % number))
        offsets = [client.receive().responses[0].partition_responses[0].base_offset for _ in range(300)]
    assert offsets == list(range(300))


def test_more_requests_in_flight_than_the_bound_are_all_answered(broker: Broker) -> None:
    broker.create_topic("bounded")
    with broker.connect() as client, broker.connect() as other:
        client.send("fetch", 12, long_poll("bounded", offset=0, wait=datetime.timedelta(seconds=20)))
        for _ in range(1000):
            client.send("api_versions", 4, api_versions())
        other.call("produce", 12, produce("bounded", b"go"))
        assert client.receive().responses
        assert all(client.receive().api_keys for _ in range(1000))


def test_a_producer_without_acknowledgements_gets_none(broker: Broker) -> None:
    broker.create_topic("unacknowledged")
    with broker.connect() as client:
        client.send("produce", 12, produce("unacknowledged", b"fire and forget", acks=0))
        client.forget()
        answer = client.call("produce", 12, produce("unacknowledged", b"acknowledged", acks=1))
        assert answer.responses[0].partition_responses[0].base_offset == 1


def test_a_slow_reader_stops_being_served_and_gets_everything_in_the_end(broker: Broker) -> None:
    broker.create_topic("large")
    with broker.connect() as client:
        for _ in range(20):
            client.call("produce", 12, produce("large", bytes(900_000)))
    request = long_poll("large", offset=0, wait=datetime.timedelta())
    with Client("127.0.0.1", broker.port) as slow:
        for _ in range(100):
            slow.send("fetch", 12, request)
        assert is_alive(broker)
        assert all(len(slow.receive().responses[0].partitions[0].records) > 900_000 for _ in range(100))


def test_a_half_closed_client_gets_the_answer_it_is_owed(broker: Broker) -> None:
    broker.create_topic("half-closed")
    with broker.connect() as client, broker.connect() as other:
        client.send("fetch", 12, long_poll("half-closed", offset=0, wait=datetime.timedelta(seconds=20)))
        client._socket.shutdown(socket.SHUT_WR)
        other.call("produce", 12, produce("half-closed", b"still there"))
        assert client.receive().responses[0].partitions[0].records
        with pytest.raises(ConnectionClosed):
            client.receive_frame()


def test_a_frame_larger_than_the_buffer_comes_through(broker: Broker) -> None:
    broker.create_topic("big")
    with broker.connect() as client:
        for size in (70_000, 500_000, 1_000_000, 10):
            answer = client.call("produce", 12, produce("big", bytes(size)))
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none


def test_frames_that_lie_across_the_end_of_the_buffer_stay_whole(broker: Broker) -> None:
    broker.create_topic("across")
    sizes = [(number * 7919) % 60_000 + 1 for number in range(60)]
    with broker.connect() as client:
        for number, size in enumerate(sizes):
            client.send("produce", 12, produce("across", bytes([number]) * size))
        offsets = [client.receive().responses[0].partition_responses[0].base_offset for _ in sizes]
        assert offsets == list(range(len(sizes)))
        for number, size in enumerate(sizes):
            fetched = client.call("fetch", 12, long_poll("across", offset=number, wait=SECONDS_5))
            batch = next(split_batches(fetched.responses[0].partitions[0].records))
            (record,) = decode_records(batch, max_bytes=100_000)
            assert record.value == bytes([number]) * size


def test_connections_past_the_limit_are_closed_and_a_departure_makes_room() -> None:
    with Broker(properties={"max.connections.per.ip": "3"}) as broker:
        clients = [broker.connect() for _ in range(3)]
        for client in clients:
            assert client.call("api_versions", 4, api_versions()).api_keys
        with broker.connect() as refused, pytest.raises((ConnectionClosed, ConnectionResetError)):
            refused.call("api_versions", 4, api_versions())
        clients.pop().close()
        while True:  # the broker notices the disconnect a moment later
            with broker.connect() as client:
                try:
                    assert client.call("api_versions", 4, api_versions()).api_keys
                    break
                except (ConnectionClosed, ConnectionResetError):
                    continue
        for client in clients:
            client.close()


def test_an_idle_connection_is_closed() -> None:
    with Broker(properties={"connections.max.idle.ms": "200"}) as broker, broker.connect() as client:
        assert client.call("api_versions", 4, api_versions()).api_keys
        with pytest.raises((ConnectionClosed, ConnectionResetError)):
            client.receive_frame()


def test_a_stopping_broker_answers_what_waits() -> None:
    with Broker() as broker:
        broker.create_topic("waiting")
        with broker.connect() as client:
            client.send("fetch", 12, long_poll("waiting", offset=0, wait=datetime.timedelta(seconds=60)))
            assert is_alive(broker)
            broker.stop()
            assert client.receive().responses[0].partitions[0].error_code == ErrorCode.none
