"""Bytes that are not requests, from clients of other protocols: their answers, while other clients are served."""

import http.client
import random
import resource
import socket
import ssl
import struct
from contextlib import suppress

import pytest
from attacked import Attacked
from fuzz.mutation import mutate
from fuzz.random_messages import RandomMessages

from barnabas.testing.client import Client, ConnectionClosed, request_header
from barnabas.wire.api_table import APIS, Api
from barnabas.wire.codec import is_flexible

CLOSED = (ConnectionClosed, ConnectionResetError, BrokenPipeError)
PARKED = {"fetch", "join_group", "sync_group"}
"""Their answers may take as long as a damaged timeout says."""
RESET_AT_CLOSE = struct.pack("ii", 1, 0)


def ends(client: Client) -> bool:
    """Whether the broker closes the connection without an answer."""
    try:
        client.receive_frame()
    except CLOSED:
        return True
    return False


def whole_request(api: Api, version: int, rng: random.Random) -> bytes:
    messages = RandomMessages(rng, words=["values", "group"])
    return request_header(api.name, version, 7, "client") + messages.encoded_request(api.name, version)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_damaged_requests_of_every_version_are_answered_or_end_their_connection(attacked: Attacked, api: Api) -> None:
    rng = random.Random(api.name)
    for version in range(api.version_min, api.version_max + 1):
        for _ in range(4):
            payload = mutate(whole_request(api, version, rng), rng)
            with attacked.broker.connect(timeout_s=0.05 if api.name in PARKED else 5.0) as client:
                client.send_frame(payload)
                client._socket.shutdown(socket.SHUT_WR)
                try:
                    assert len(client.receive_frame()) >= 4
                except CLOSED:
                    continue
                except TimeoutError:
                    assert api.name in PARKED


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_body_cut_short_ends_the_connection(attacked: Attacked, api: Api) -> None:
    payload = request_header(api.name, api.version_max, 7, None)  # and nothing of its body
    if api.name in ("list_groups", "describe_cluster", "api_versions", "describe_log_dirs", "metadata"):
        payload = payload[:-1]  # of these, almost nothing is enough
    with attacked.broker.connect() as client:
        client.send_frame(payload)
        assert ends(client)


@pytest.mark.parametrize("count", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff\xff\xff"])
@pytest.mark.parametrize(
    "api", [api for api in APIS if is_flexible(api.name, api.version_max)], ids=lambda api: api.name
)
def test_tagged_fields_without_end_in_the_header(attacked: Attacked, api: Api, count: bytes) -> None:
    header = request_header(api.name, api.version_max, 7, "c")[:-1]
    for tags in (count, b"\x01\x00" + count, b"\x02\x00\x00\x05" + count):
        with attacked.broker.connect() as client:
            client.send_frame(header + tags + bytes(40))
            assert ends(client)


@pytest.mark.parametrize("count", [2**31 - 1, 2**30, 10_000_000, -2])
@pytest.mark.parametrize("compact", [False, True])
def test_arrays_that_are_longer_than_their_request(attacked: Attacked, count: int, compact: bool) -> None:
    version = 12 if compact else 4
    number = struct.pack(">i", count)
    if compact:
        number = bytes(0x80 | (count + 1) >> shift & 0x7F for shift in (0, 7, 14, 21)) + bytes(
            ((count + 1) >> 28 & 0x0F,)
        )
    for padding in (0, 100):
        with attacked.broker.connect() as client:
            client.send_frame(request_header("metadata", version, 7, "c") + number + bytes(padding))
            assert ends(client)


@pytest.mark.parametrize("api_name", ["describe_groups", "delete_groups", "metadata"])
def test_half_a_million_names_in_a_megabyte(attacked: Attacked, api_name: str) -> None:
    version = {"describe_groups": 5, "delete_groups": 2, "metadata": 9}[api_name]
    name = b"\x02a\x00" if api_name == "metadata" else b"\x01"
    body = b"\xa1\xc2\x1e" + name * 500_000 + bytes(4)
    with attacked.broker.connect() as client:
        client.send_frame(request_header(api_name, version, 7, "c") + body)
        assert ends(client)


@pytest.mark.parametrize("client_id", [b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80"])
def test_client_ids_that_are_not_utf_8(attacked: Attacked, client_id: bytes) -> None:
    with attacked.broker.connect() as client:
        client.send_frame(struct.pack(">hhih", 18, 0, 1, len(client_id)) + client_id)
        assert ends(client)


@pytest.mark.parametrize("client_id", ["", "\x00", "\n\r\x1b[31m", "\U0001f600", "\u202e", "x" * 32_767])
def test_odd_client_ids_are_served(attacked: Attacked, client_id: str) -> None:
    with attacked.broker.connect(client_id=client_id) as client:
        client.send_frame(request_header("api_versions", 0, 1, client_id))
        assert client.receive_frame()


def test_frames_that_never_end_cost_what_was_sent_and_not_what_was_announced(attacked: Attacked) -> None:
    clients = [attacked.broker.connect() for _ in range(300)]
    try:
        for client in clients:
            client.send_bytes(struct.pack(">i", 100_000_000) + b"only the beginning")
        attacked.check_unharmed()
    finally:
        for client in clients:
            client.close()


def test_thousands_of_connections_reset_at_once(attacked: Attacked) -> None:
    address = ("127.0.0.1", attacked.broker.port)
    for number in range(2000):
        connection = socket.create_connection(address, timeout=10)
        if number % 3 == 1:
            connection.sendall(struct.pack(">i", 500) + b"half a request")
        elif number % 3 == 2:
            connection.sendall(request_frame())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        connection.close()


def test_a_thousand_silent_connections(attacked: Attacked) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    address = ("127.0.0.1", attacked.broker.port)
    connections = [socket.create_connection(address, timeout=10) for _ in range(min(1000, soft // 2))]
    try:
        attacked.check_unharmed()
    finally:
        for connection in connections:
            connection.close()


def request_frame() -> bytes:
    payload = request_header("api_versions", 0, 1, "c")
    return struct.pack(">i", len(payload)) + payload


def test_http_is_hung_up_on(attacked: Attacked) -> None:
    for method in ("GET", "POST", "HEAD", "OPTIONS"):
        connection = http.client.HTTPConnection("127.0.0.1", attacked.broker.port, timeout=10)
        connection.request(method, "/", body=b"x" * 100)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            connection.getresponse()
        connection.close()


def test_tls_is_hung_up_on(attacked: Attacked) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", attacked.broker.port), timeout=10) as connection,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(connection, server_hostname="localhost")


def test_a_client_that_asks_and_never_listens(attacked: Attacked) -> None:
    """Its answers pile up no further than the kernel's buffers and the transport's mark."""
    with attacked.broker.connect() as client:
        client._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client._socket.settimeout(0.5)
        with suppress(TimeoutError):
            for _ in range(10_000):
                client.send_bytes(request_frame() * 100)
            pytest.fail("a million requests were taken from a client that reads no answer")
        attacked.check_unharmed()
