"""One connection to one broker: frames out, frames in, in order.

Kafka answers the requests of a connection in their order, so requests can be pipelined: `send` several, then `receive`
each. There are no retries here; `Cluster` has them. To read much data, receive responses into a `FrameBuffer` that is
used again and again (`receive_in_place`).

After an error a connection is `broken`, because responses may still be on their way. Open a new one.
"""

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Self

from barnabas.client.errors import AuthenticationFailed, BadAnswer, ConnectionClosed, RequestTimedOut
from barnabas.wire.api_table import APIS
from barnabas.wire.codec import (
    MalformedMessage,
    decode_response,
    decode_response_in_place,
    encode_request,
    is_flexible,
)
from barnabas.wire.frame import skip_tagged_fields
from barnabas.wire.writer import Buffer

FRAME_BYTES_MAX: Final = 1 << 30
"""Brokers send at most fetch.max.bytes and one batch. Larger sizes come from servers that do not speak Kafka."""

_KEYS: Final = {api.name: api.key for api in APIS}
_NO_TAGS: Final = b"\x00"
_TLS_ALERT: Final = b"\x15\x03"
_HTTP: Final = b"HTTP"


class _Expected(NamedTuple):
    correlation_id: int
    api_name: str
    version: int


_NOTHING: Final = _Expected(-1, "", -1)


class FrameBuffer:
    """Reusable memory for frames. The next frame overwrites earlier views."""

    def __init__(self, size: int = 0) -> None:
        self._memory = bytearray(size)

    def view(self, size: int) -> memoryview:
        if size > len(self._memory):
            # A new one, not a longer one: views of the old one may still be held.
            self._memory = bytearray(size + size // 4)
        return memoryview(self._memory)[:size]


class Connection:
    """Over a connected socket, after the TLS handshake if there is one."""

    def __init__(self, connected: socket.socket, address: str, *, client_id: str | None = "barnabas") -> None:
        self.address = address
        self.client_id = client_id
        self.broken = False
        self.expires_at: float | None = None
        """On the monotonic clock: when the login expires, and the broker would close the connection."""
        self._socket = connected
        self._expected: deque[_Expected] = deque()
        self._next_correlation_id = 0

    @property
    def timeout_s(self) -> float | None:
        """How long the broker may be silent; a whole response may take twice as long."""
        return self._socket.gettimeout()

    @timeout_s.setter
    def timeout_s(self, timeout_s: float | None) -> None:
        self._socket.settimeout(timeout_s)

    @property
    def in_flight(self) -> int:
        """Requests without a response yet."""
        return len(self._expected)

    def call(self, api_name: str, version: int, request: object) -> Any:
        self.send(api_name, version, request)
        return self.receive()

    def send(self, api_name: str, version: int, request: object) -> None:
        """Send without waiting. After a produce request with acks=0, which has no response, call `forget`."""
        self.send_encoded(api_name, version, encode_request(api_name, version, request))

    def send_encoded(self, api_name: str, version: int, *body: Buffer) -> None:
        """Send a request that is encoded already, in one piece or several."""
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        header = request_header(api_name, version, correlation_id, self.client_id)
        self.send_frame(header, *body)
        self._expected.append(_Expected(correlation_id, api_name, version))

    def forget(self) -> None:
        """Expect no response to the last request sent."""
        self._expected.pop()

    def receive(self) -> Any:
        """The response to the oldest unanswered request."""
        expected = self._expected[0] if self._expected else _NOTHING
        return self.decode(expected.api_name, expected.version, self.receive_body())

    def receive_in_place(self, buffer: FrameBuffer) -> Any:
        """The same without copies: its records are parts of `buffer`, and valid until that is used again."""
        expected = self._expected[0] if self._expected else _NOTHING
        with self._naming_bad_answers(expected.api_name, expected.version):
            return decode_response_in_place(expected.api_name, expected.version, self.receive_body(buffer))

    def decode(self, api_name: str, version: int, body: memoryview) -> Any:
        """Decode what `receive_body` returned."""
        with self._naming_bad_answers(api_name, version):
            return decode_response(api_name, version, body)

    @contextmanager
    def _naming_bad_answers(self, api_name: str, version: int) -> Iterator[None]:
        try:
            yield
        except (MalformedMessage, IndexError, struct.error) as error:
            self.broken = True
            raise BadAnswer(
                f"the response of {self.address} to {api_name} v{version} cannot be decoded: {error}",
                "check that it is a Kafka broker, and that no proxy in between changes bytes",
            ) from error

    def receive_body(self, buffer: FrameBuffer | None = None) -> memoryview:
        """The body of the oldest response that is due; valid until `buffer` is used again."""
        if not self._expected:
            raise RuntimeError("no response is due on this connection: send a request first")
        expected = self._expected.popleft()
        frame = self.receive_frame_view(buffer)
        if len(frame) < 4:
            raise self._bad_frame(expected, f"it has {len(frame)} bytes")
        (correlation_id,) = struct.unpack_from(">i", frame)
        if correlation_id != expected.correlation_id:
            raise self._bad_frame(expected, f"its correlation id is {correlation_id}, not {expected.correlation_id}")
        # ApiVersions responses always have header v0, so that clients of any version can read them.
        if not is_flexible(expected.api_name, expected.version) or expected.api_name == "api_versions":
            return frame[4:]
        try:
            return frame[skip_tagged_fields(frame, 4) :]
        except (MalformedMessage, IndexError) as error:
            raise self._bad_frame(expected, str(error)) from error

    def send_frame(self, *payload: Buffer) -> None:
        """A frame of one or more pieces, with its size in front."""
        size = struct.pack(">i", sum(map(len, payload)))
        if len(payload) <= 2 and len(payload[-1]) < 1 << 16:
            self.send_bytes(b"".join((size, *payload)))
            return
        self.send_bytes(size + payload[0])
        for piece in payload[1:]:
            self.send_bytes(piece)

    def send_bytes(self, data: Buffer) -> None:
        """Bytes as they are, without a size in front."""
        with self._translating_errors("sending a request"):
            self._socket.sendall(data)

    def receive_frame(self) -> bytes | memoryview:
        return self.receive_frame_view()

    def receive_frame_view(self, buffer: FrameBuffer | None = None) -> memoryview:
        """The next frame, whatever it is; valid until `buffer` is used again."""
        timeout_s = self._socket.gettimeout()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        start = memoryview(bytearray(4))
        self._read_into(start, deadline)
        (size,) = struct.unpack(">i", start)
        if not 0 <= size <= FRAME_BYTES_MAX or bytes(start[:2]) == _TLS_ALERT:
            raise self._not_kafka(bytes(start))
        frame = memoryview(bytearray(size)) if buffer is None else buffer.view(size)
        self._read_into(frame, deadline)
        return frame

    def fileno(self) -> int:
        """For `select`: readable when a response begins to arrive."""
        return self._socket.fileno()

    def is_stale(self) -> bool:
        """Whether the broker has closed the connection, as it does after a long idle time.

        While no response is due, a readable socket means that.
        """
        if self.broken or self._socket.fileno() < 0:
            return True
        if self._expected:
            return False
        if self.expires_at is not None and time.monotonic() > self.expires_at:
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0)) and not self._has_only_tls_records()

    def _has_only_tls_records(self) -> bool:
        """Whether only records of TLS itself, such as session tickets, are there to be read."""
        if not hasattr(self._socket, "pending"):
            return False
        from ssl import SSLWantReadError

        timeout_s = self._socket.gettimeout()
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except SSLWantReadError:
            return True
        except OSError:
            return False
        finally:
            self._socket.settimeout(timeout_s)
        return False

    def close(self) -> None:
        self.broken = True
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _read_into(self, view: memoryview, deadline: float | None) -> None:
        size, got = len(view), 0
        with self._translating_errors("waiting for an answer"):
            while got < size:
                count = self._socket.recv_into(view[got:])
                if not count:
                    self.broken = True
                    raise ConnectionClosed(
                        f"{self.address} closed the connection after {got} of {size} bytes",
                        "check that it is a Kafka listener and that security.protocol is right; see also its log",
                    )
                got += count
                if got < size and deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError(f"only {got} of {size} bytes came in time")

    @contextmanager
    def _translating_errors(self, doing: str) -> Iterator[None]:
        """Turn the socket's errors into ours."""
        try:
            yield
        except ConnectionClosed:
            raise
        except TimeoutError as error:
            self.broken = True
            raise RequestTimedOut(
                f"{self.address} was silent for too long while {doing} ({error})",
                "check that it is a Kafka listener and not overloaded; if it is only slow, raise request.timeout.ms",
            ) from error
        except OSError as error:
            self.broken = True
            if "ALERT" in (getattr(error, "reason", None) or ""):
                # In TLS 1.3 a broker judges our certificate only after the handshake.
                raise AuthenticationFailed(
                    f"{self.address} ended the TLS connection: {error}",
                    "if it wants a client certificate, set ssl.keystore.location to a PEM file with key and chain",
                ) from error
            raise ConnectionClosed(
                f"the connection to {self.address} broke while {doing}: {error}",
                "check that the broker runs; see also its log",
            ) from error

    def _bad_frame(self, expected: _Expected, problem: str) -> BadAnswer:
        self.broken = True
        return BadAnswer(
            f"the response of {self.address} to {expected.api_name} v{expected.version} is wrong: {problem}",
            "check that it is a Kafka broker, and that no proxy in between changes bytes",
        )

    def _not_kafka(self, start: bytes) -> BadAnswer:
        self.broken = True
        if start[:2] == _TLS_ALERT:
            return BadAnswer(f"{self.address} speaks TLS", "set security.protocol to SSL or SASL_SSL")
        if start == _HTTP:
            return BadAnswer(f"{self.address} speaks HTTP, not Kafka", "give the address of a Kafka listener")
        return BadAnswer(
            f"{self.address} does not speak Kafka: its first bytes were {start.hex(' ')}",
            "give the address of a Kafka listener",
        )


def request_header(api_name: str, version: int, correlation_id: int, client_id: str | None) -> bytes:
    name = None if client_id is None else client_id.encode()
    header = struct.pack(">hhih", _KEYS[api_name], version, correlation_id, -1 if name is None else len(name))
    return header + (name or b"") + (_NO_TAGS if is_flexible(api_name, version) else b"")
