"""A small blocking Kafka client over `wire`: one socket, one call per request, every version of every API.

It hides nothing: no retries, no metadata, no batching. Protocol tests say exactly which bytes go out, and may send
frames that no well-behaved client would (`send_frame`). Requests may be pipelined: `send` several, then `receive` each.
"""

import socket
import struct
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from barnabas.wire.api_table import APIS
from barnabas.wire.codec import decode_response, encode_request, is_flexible
from barnabas.wire.errors import ErrorCode

_KEYS = {api.name: api.key for api in APIS}
_VERSION_MAX = {api.name: api.version_max for api in APIS}
_NO_TAGS = b"\x00"


class ConnectionClosed(ConnectionError):
    """The broker hung up: for a frame it cannot make sense of, that is its answer."""


class _Expected(NamedTuple):
    correlation_id: int
    api_name: str
    version: int


class Client:
    """One connection. `call` is a round trip; `send` and `receive` are its halves."""

    def __init__(
        self, host: str, port: int, *, client_id: str | None = "barnabas-testing", timeout_s: float = 10.0
    ) -> None:
        self.client_id = client_id
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._expected: deque[_Expected] = deque()
        self._next_correlation_id = 0

    def call(self, api_name: str, version: int, request: object) -> Any:
        self.send(api_name, version, request)
        return self.receive()

    def send(self, api_name: str, version: int, request: object) -> None:
        """Send without waiting; a produce with acks=0, which has no response, must be told so with `forget`."""
        correlation_id = self._next_correlation_id
        self._next_correlation_id += 1
        body = encode_request(api_name, version, request)
        self.send_frame(request_header(api_name, version, correlation_id, self.client_id) + body)
        self._expected.append(_Expected(correlation_id, api_name, version))

    def forget(self) -> None:
        """Expect no response to the last request sent."""
        self._expected.pop()

    def receive(self) -> Any:
        """The response to the oldest unanswered request: Kafka answers a connection in order."""
        expected = self._expected.popleft()
        payload = self.receive_frame()
        (correlation_id,) = struct.unpack_from(">i", payload)
        if correlation_id != expected.correlation_id:
            raise AssertionError(f"response {correlation_id} came where {expected.correlation_id} was due")
        position = 4
        # ApiVersions answers keep header v0, so that a client that knows no version can read them.
        if is_flexible(expected.api_name, expected.version) and expected.api_name != "api_versions":
            position += 1
        return decode_response(expected.api_name, expected.version, payload, position)

    def send_frame(self, payload: bytes) -> None:
        self._socket.sendall(struct.pack(">i", len(payload)) + payload)

    def send_bytes(self, data: bytes) -> None:
        """Bytes as they are, without a size in front."""
        self._socket.sendall(data)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._read_exactly(4))
        return self._read_exactly(size)

    def fileno(self) -> int:
        """For `select`: readable when an answer has begun to arrive."""
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_exactly(self, size: int) -> bytes:
        buffer = bytearray(size)
        view = memoryview(buffer)
        got = 0
        while got < size:
            count = self._socket.recv_into(view[got:])
            if not count:
                raise ConnectionClosed(f"the broker closed the connection after {got} of {size} bytes")
            got += count
        return bytes(buffer)


def request_header(api_name: str, version: int, correlation_id: int, client_id: str | None) -> bytes:
    name = None if client_id is None else client_id.encode()
    header = struct.pack(">hhih", _KEYS[api_name], version, correlation_id, -1 if name is None else len(name))
    return header + (name or b"") + (_NO_TAGS if is_flexible(api_name, version) else b"")


def create_topic(client: Client, name: str, *, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
    """Create one topic of one replica, or raise with the broker's own words."""
    from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

    configs = tuple(CreatableTopicConfig(name=key, value=value) for key, value in (config or {}).items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
    response = client.call("create_topics", _VERSION_MAX["create_topics"], CreateTopicsRequest(topics=(topic,)))
    (result,) = response.topics
    if result.error_code != ErrorCode.none:
        raise RuntimeError(f"topic {name} was not created: {result.error_message or result.error_code.name}")
