"""Whatever the broker sends, a caller gets its answer or a clear error, in bounded time."""

import pickle
import struct
from collections.abc import Callable

import pytest
from fake_kafka import FakeKafka, Peer, Request, api_versions, serve_plainly

from barnabas.client.cluster import Cluster
from barnabas.client.connection import Connection, FrameBuffer
from barnabas.client.dialing import open_connection
from barnabas.client.errors import BadAnswer, CannotConnect, ClientError, ConnectionClosed, RequestTimedOut
from barnabas.client.properties import client_settings
from barnabas.testing import Broker
from barnabas.testing.ports import pick_free_port
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse

Answer = Callable[[Peer, Request], None]


def cluster(servers: str, **properties: str) -> Cluster:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return Cluster(client_settings({"bootstrap.servers": servers, **named}), retry_for_s=0)


def answering_metadata(answer: Answer) -> Callable[[Peer], None]:
    """A listener with a valid ApiVersions answer."""

    def serve(peer: Peer) -> None:
        peer.answer(peer.request(), api_versions())
        answer(peer, peer.request())

    return serve


def whole(peer: Peer, request: Request) -> bytes:
    return peer.framed(request, MetadataResponse(cluster_id="fake"))


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        pytest.param(lambda _p, _r: None, ConnectionClosed, "after 0 of 4 bytes", id="no answer"),
        pytest.param(
            lambda p, r: p.socket.sendall(whole(p, r)[:3]), ConnectionClosed, "3 of 4 bytes", id="half a size"
        ),
        pytest.param(lambda p, r: p.socket.sendall(whole(p, r)[:-2]), ConnectionClosed, "bytes", id="half an answer"),
        pytest.param(
            lambda p, r: p.answer(r._replace(correlation_id=77), MetadataResponse()),
            BadAnswer,
            "its correlation id is 77, not 1",
            id="an answer to another question",
        ),
        pytest.param(lambda p, _r: p.socket.sendall(struct.pack(">i", 2) + b"ab"), BadAnswer, "2 bytes", id="short"),
        pytest.param(
            lambda p, _r: p.socket.sendall(b"\xff" * 8), BadAnswer, "does not speak Kafka", id="negative size"
        ),
        pytest.param(lambda p, _r: p.socket.sendall(b"HTTP/1.1 400"), BadAnswer, "speaks HTTP", id="a web server"),
        pytest.param(
            lambda p, _r: p.socket.sendall(b"\x15\x03\x03\x00\x02\x02\x46"), BadAnswer, "SSL or SASL_SSL", id="TLS"
        ),
        pytest.param(
            lambda p, r: p.socket.sendall(struct.pack(">ii", 12, r.correlation_id) + b"\x00" + b"\xfe" * 7),
            BadAnswer,
            "the response of .* to metadata v.* cannot be decoded",
            id="an answer of noise",
        ),
        pytest.param(
            lambda p, r: p.socket.sendall(struct.pack(">ii", 9, r.correlation_id) + b"\xff" * 5),
            BadAnswer,
            "to metadata v.* is wrong",
            id="a header of noise",
        ),
    ],
)
def test_broken_answers(answer: Answer, error: type[ClientError], message: str) -> None:
    with FakeKafka(answering_metadata(answer)) as listener, cluster(listener.bootstrap_servers) as connected:
        with pytest.raises(error, match=message) as caught:
            connected.topics()
        assert listener.bootstrap_servers in str(caught.value)
        assert caught.value.hint
        # It does not reuse a connection in an unknown state.
        before = listener.connections
        with pytest.raises(error):
            connected.topics()
        assert listener.connections == before + 1


def test_bytes_after_an_answer_are_no_answer() -> None:
    def longer(peer: Peer, request: Request) -> None:
        frame = whole(peer, request)
        peer.socket.sendall(struct.pack(">i", len(frame) - 4 + 3) + frame[4:] + b"abc")

    with (
        FakeKafka(answering_metadata(longer)) as listener,
        cluster(listener.bootstrap_servers) as connected,
        pytest.raises(BadAnswer, match="3 bytes follow"),
    ):
        connected.topics()


def test_a_silent_broker_is_not_waited_for_without_end() -> None:
    with (
        FakeKafka(answering_metadata(lambda peer, _: peer.request() and None)) as listener,
        cluster(listener.bootstrap_servers, request_timeout_ms="100") as connected,
        pytest.raises(RequestTimedOut, match=r"silent for too long .*; .*request\.timeout\.ms"),
    ):
        connected.topics()


def test_a_broker_that_never_finishes_its_answer_is_not_waited_for_either() -> None:
    """Each byte comes in time, the answer does not."""

    def trickle(peer: Peer, _: Request) -> None:
        peer.socket.sendall(struct.pack(">i", 1_000_000))
        while True:
            peer.socket.sendall(b"x")

    with (
        FakeKafka(answering_metadata(trickle)) as listener,
        cluster(listener.bootstrap_servers, request_timeout_ms="100") as connected,
        pytest.raises(ClientError) as caught,
    ):
        connected.topics()
    # If the million bytes came in a tenth of a second after all, then they are no answer.
    assert isinstance(caught.value, RequestTimedOut | BadAnswer)


def test_nobody_listens() -> None:
    port = pick_free_port()
    with (
        cluster(f"127.0.0.1:{port}") as connected,
        pytest.raises(CannotConnect, match="refused; check that the broker runs"),
    ):
        connected.topics()


def test_all_addresses_are_tried_and_all_are_named() -> None:
    ports = pick_free_port(), pick_free_port()
    gone = ",".join(f"127.0.0.1:{port}" for port in ports)
    with cluster(gone) as connected, pytest.raises(CannotConnect) as caught:
        connected.topics()
    assert all(str(port) in str(caught.value) for port in ports)
    with FakeKafka(serve_plainly) as listener, cluster(f"{gone},{listener.bootstrap_servers}") as connected:
        assert connected.topics() == {}


def test_a_name_that_is_unknown() -> None:
    with (
        cluster("no-such-host.invalid:9092") as connected,
        pytest.raises(CannotConnect, match=r"no-such-host\.invalid"),
    ):
        connected.topics()


def test_a_listener_that_hangs_up_at_once_does_not_hide_the_next_one() -> None:
    with (
        FakeKafka(lambda peer: peer.request() and None) as rude,
        FakeKafka(serve_plainly) as kind,
        cluster(f"{rude.bootstrap_servers},{kind.bootstrap_servers}") as connected,
    ):
        assert connected.topics() == {}


def test_an_old_broker_that_does_not_know_the_newest_greeting() -> None:
    def serve(peer: Peer) -> None:
        request = peer.request()
        assert request.version == 3
        peer.answer(request._replace(version=0), ApiVersionsResponse(error_code=35))  # type: ignore[arg-type]
        request = peer.request()
        assert (request.api_name, request.version) == ("api_versions", 0)
        peer.answer(request, api_versions())
        serve_plainly(peer)

    with FakeKafka(serve) as listener, cluster(listener.bootstrap_servers) as connected:
        assert connected.topics() == {}


def test_answers_come_in_the_order_of_requests_and_into_one_buffer(broker: Broker) -> None:
    settings = client_settings({"bootstrap.servers": broker.bootstrap_servers})
    buffer = FrameBuffer(16)
    with open_connection(settings.bootstrap[0], settings) as connection:
        connection.send("metadata", 12, MetadataRequest(topics=()))
        connection.send("api_versions", 2, ApiVersionsRequest())
        connection.send("metadata", 0, MetadataRequest(topics=()))
        assert connection.in_flight == 3
        first = bytes(connection.receive_body(buffer))
        assert connection.decode("metadata", 12, memoryview(first)).cluster_id
        assert connection.receive().api_keys
        assert connection.decode("metadata", 0, connection.receive_body(buffer)).brokers
        assert connection.in_flight == 0
        with pytest.raises(RuntimeError, match="send a request first"):
            connection.receive()


def test_a_frame_in_pieces_is_one_frame(broker: Broker) -> None:
    from barnabas.wire.codec import encode_request

    settings = client_settings({"bootstrap.servers": broker.bootstrap_servers})
    body = encode_request("metadata", 12, MetadataRequest(topics=()))
    with open_connection(settings.bootstrap[0], settings) as connection:
        connection.send_encoded("metadata", 12, body[:3], memoryview(body)[3:5], body[5:])
        assert connection.receive().brokers


def test_a_closed_connection_is_broken(broker: Broker) -> None:
    settings = client_settings({"bootstrap.servers": broker.bootstrap_servers})
    connection: Connection = open_connection(settings.bootstrap[0], settings)
    assert not connection.is_stale()
    connection.close()
    assert connection.is_stale()
    with pytest.raises(ConnectionClosed):
        connection.call("metadata", 12, MetadataRequest(topics=()))


@pytest.mark.parametrize("error", [CannotConnect, ConnectionClosed, RequestTimedOut, BadAnswer])
def test_errors_travel(error: type[ClientError]) -> None:
    there = pickle.loads(pickle.dumps(error("it broke", "mend it")))
    assert type(there) is error
    assert (there.message, there.hint, str(there)) == ("it broke", "mend it", "it broke; mend it")
