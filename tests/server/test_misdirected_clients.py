"""A client that comes with TLS, a login or HTTP: the broker's log says so, at its default level, and what to change."""

import http.client
import logging
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from barnabas.env.rate_limited_log import INTERVAL_MS, KINDS_MAX, RateLimitedLog
from barnabas.server.foreign_protocols import explain_size
from barnabas.testing import Broker, VirtualClock
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest

SIZE_MAX = 100 * 1024 * 1024


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as broker:
        yield broker


def lines_about(broker: Broker, what: str) -> list[str]:
    stderr = Path(broker.data_dir).parent / "stderr"
    return [line for line in stderr.read_text().splitlines() if what in line]


def test_tls(broker: Broker) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for _ in range(5):
        with (
            socket.create_connection(("127.0.0.1", broker.port), timeout=10) as plain,
            pytest.raises((ConnectionError, ssl.SSLError)),
        ):
            context.wrap_socket(plain, server_hostname="localhost")
    (line,) = lines_about(broker, "TLS")
    assert "WARNING" in line
    assert "127.0.0.1" in line
    assert "PLAINTEXT" in line
    assert "security.protocol=PLAINTEXT" in line


def test_http(broker: Broker) -> None:
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", broker.port, timeout=10)
        connection.request("GET", "/")
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            connection.getresponse()
        connection.close()
    with socket.create_connection(("127.0.0.1", broker.port), timeout=10) as plain:
        plain.sendall(b"POST / HTTP/1.1\r\n")
        assert plain.recv(1) == b""
    (line,) = lines_about(broker, "HTTP")
    assert "another port" in line


@pytest.mark.clients
def test_a_login(broker: Broker) -> None:
    errors: list[KafkaError] = []
    admin = AdminClient(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "secret",
            "error_cb": errors.append,
            "log_level": 0,
        }
    )
    while not any(error.code() == KafkaError._AUTHENTICATION for error in errors):
        admin.poll(10)
    with broker.connect() as client:
        for _ in range(3):
            answer = client.call("sasl_handshake", 1, SaslHandshakeRequest(mechanism="PLAIN"))
            assert answer.error_code == ErrorCode.illegal_sasl_state
    (line,) = lines_about(broker, "SASL")
    assert "WARNING" in line
    assert "127.0.0.1" in line
    assert "(PLAIN)" in line
    assert "security.protocol=PLAINTEXT" in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("first", "what"),
    [
        (b"\x16\x03\x01\x02", "TLS"),
        (b"\x16\x03\x03\x00", "TLS"),
        (b"GET ", "HTTP"),
        (b"POST", "HTTP"),
        (b"PRI ", "HTTP"),
        (b"\x7f\xff\xff\xff", "socket.request.max.bytes"),
        (b"\x00\x00\x00\x00", "0 bytes"),
        (b"\xff\xff\xff\xff", "-1 bytes"),
    ],
)
def test_protocols_are_told_by_their_first_bytes(first: bytes, what: str) -> None:
    assert what in explain_size(int.from_bytes(first, "big", signed=True), SIZE_MAX)


# --- the rate limit


class Limited:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.clock = VirtualClock()
        self.warn = RateLimitedLog(logging.getLogger("tests.limited"), self.clock.monotonic_ms).warn
        self._caplog = caplog

    @property
    def lines(self) -> list[str]:
        return [record.getMessage() for record in self._caplog.records]


@pytest.fixture
def limited(caplog: pytest.LogCaptureFixture) -> Limited:
    return Limited(caplog)


def test_what_is_repeated_is_counted(limited: Limited) -> None:
    for _ in range(10):
        limited.warn("a", "%s is wrong", "a")
        limited.warn("b", "%s is wrong", "b")
        limited.clock.advance(1)
    assert limited.lines == ["a is wrong", "b is wrong"]
    limited.clock.advance(INTERVAL_MS)
    limited.warn("a", "%s is wrong", "a")
    assert limited.lines[2:] == ["a is wrong (9 more times since the last such line)"]
    limited.clock.advance(INTERVAL_MS)
    limited.warn("a", "%s is wrong", "a")
    assert limited.lines[3:] == ["a is wrong"]


def test_many_hosts_do_not_fill_the_log(limited: Limited) -> None:
    def wave() -> int:
        before = len(limited.lines)
        for host in range(10 * KINDS_MAX):
            limited.warn(host, "%d is wrong", host)
        return len(limited.lines) - before

    assert wave() == KINDS_MAX
    assert wave() == 0
    limited.clock.advance(INTERVAL_MS)
    assert 0 < wave() <= KINDS_MAX
