"""A scripted listener: speaks TLS, accepts logins, or disconnects at points where a real broker never would.

Each connection is served by a thread. Its errors are raised when the listener is closed, unless the client has
disconnected.
"""

import contextlib
import datetime
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

from scramp import ScramException, ScramMechanism

from barnabas.wire.api_table import APIS
from barnabas.wire.codec import decode_request, encode_response, is_flexible
from barnabas.wire.errors import ErrorCode
from barnabas.wire.frame import read_request_header, skip_tagged_fields
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.messages.metadata import MetadataResponse, MetadataResponseBroker
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from barnabas.wire.messages.sasl_handshake import SaslHandshakeResponse

_NAMES = {api.key: api.name for api in APIS}
_SERVED = ("api_versions", "sasl_handshake", "sasl_authenticate", "metadata")
_BY_SCRIPT = (*_SERVED, "create_topics", "find_coordinator", "list_offsets", "offset_fetch")


class Request(NamedTuple):
    api_name: str
    version: int
    correlation_id: int
    body: Any


class Peer:
    """One client, as the listener sees it."""

    def __init__(self, connected: socket.socket, port: int) -> None:
        self.socket = connected
        self.port = port

    def request(self) -> Request:
        (size,) = struct.unpack(">i", self._read(4))
        payload = memoryview(self._read(size))
        api_key, version, correlation_id, _, position = read_request_header(payload)
        name = _NAMES[api_key]
        if is_flexible(name, version):
            position = skip_tagged_fields(payload, position)
        return Request(name, version, correlation_id, decode_request(name, version, payload, position))

    def answer(self, request: Request, response: object) -> None:
        self.socket.sendall(self.framed(request, response))

    def framed(self, request: Request, response: object) -> bytes:
        tags = b"\0" if is_flexible(request.api_name, request.version) and request.api_name != "api_versions" else b""
        body = encode_response(request.api_name, request.version, response)
        payload = struct.pack(">i", request.correlation_id) + tags + body
        return struct.pack(">i", len(payload)) + payload

    def _read(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            piece = self.socket.recv(size - len(got))
            if not piece:
                raise ConnectionResetError("the client went away")
            got += piece
        return got


class FakeKafka:
    def __init__(self, serve: Callable[[Peer], None], *, tls: ssl.SSLContext | None = None) -> None:
        self._serve = serve
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.bootstrap_servers = f"127.0.0.1:{self.port}"
        self.connections = 0
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._failures: list[BaseException] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(30)
        for each in self._sockets:
            each.close()
        if error is None and self._failures:
            raise self._failures[0]

    def _start(self, run: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(connected)
            self._start(self._talk, connected)

    def _talk(self, connected: socket.socket) -> None:
        try:
            if self._tls is not None:
                connected = self._tls.wrap_socket(connected, server_side=True)
                self._sockets.append(connected)
            self._serve(Peer(connected, self.port))
        except OSError:
            pass  # the client went away, or does not like our certificate
        except BaseException as failure:
            self._failures.append(failure)
        finally:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
            connected.close()


def api_versions(served: tuple[str, ...] = _SERVED) -> ApiVersionsResponse:
    keys = tuple(
        ApiVersion(api_key=api.key, min_version=api.version_min, max_version=api.version_max)
        for api in APIS
        if api.name in served
    )
    return ApiVersionsResponse(api_keys=keys)


def serve_plainly(peer: Peer) -> None:
    """A cluster of one broker without topics."""
    while True:
        _serve_one(peer, peer.request())


def _serve_one(peer: Peer, request: Request) -> None:
    if request.api_name == "api_versions":
        peer.answer(request, api_versions())
    else:
        broker = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=peer.port)
        peer.answer(request, MetadataResponse(brokers=(broker,), cluster_id="fake"))


class Scripted:
    """Answers each API with the next of its scripted responses, and repeats the last one.

    None closes the connection instead.
    """

    def __init__(self, **responses: list[object]) -> None:
        self._responses = responses
        self.asked: list[str] = []

    def serve(self, peer: Peer) -> None:
        peer.answer(peer.request(), api_versions(_BY_SCRIPT))
        while True:
            request = peer.request()
            self.asked.append(request.api_name)
            left = self._responses[request.api_name]
            response = left.pop(0) if len(left) > 1 else left[0]
            if response is None:
                return
            peer.answer(request, response)


class Logins:
    """Serves clients that have logged in with a supported mechanism: with a password, or their name as token."""

    def __init__(self, users: dict[str, str], mechanisms: tuple[str, ...], *, session_ms: int = 0) -> None:
        self._users = users
        self._mechanisms = mechanisms
        self._session = datetime.timedelta(milliseconds=session_ms)
        self.logged_in: list[str] = []
        self.forge_proof = False
        """Send an invalid server signature."""

    def serve(self, peer: Peer) -> None:
        request = peer.request()
        if request.api_name == "api_versions":
            peer.answer(request, api_versions())
            request = peer.request()
        if request.api_name != "sasl_handshake":
            return  # as in Kafka: it closes the connection
        mechanism = request.body.mechanism
        known = mechanism in self._mechanisms
        code = ErrorCode.none if known else ErrorCode.unsupported_sasl_mechanism
        peer.answer(request, SaslHandshakeResponse(error_code=code, mechanisms=self._mechanisms))
        if known and self._log_in(peer, mechanism):
            serve_plainly(peer)

    def _log_in(self, peer: Peer, mechanism: str) -> bool:
        request = peer.request()
        message = bytes(request.body.auth_bytes)
        if mechanism == "PLAIN":
            _, user, password = message.decode().split("\0")
            return self._verdict(peer, request, user, self._users.get(user) == password)
        if mechanism == "OAUTHBEARER":
            token = message.decode().split("\x01")[1].removeprefix("auth=Bearer ")
            if token not in self._users:
                problem = json.dumps({"status": "invalid_token"}).encode()
                peer.answer(request, SaslAuthenticateResponse(auth_bytes=problem))
                request = peer.request()
                assert bytes(request.body.auth_bytes) == b"\x01"
            return self._verdict(peer, request, token, token in self._users)
        return self._scram(peer, request, mechanism)

    def _scram(self, peer: Peer, request: Request, mechanism: str) -> bool:
        scram = ScramMechanism(mechanism)
        asked_for = []

        def known_of(user: str) -> tuple[bytes, bytes, bytes, int]:
            asked_for.append(user)
            salt, stored_key, server_key, iterations = scram.make_auth_info(self._users[user])
            return salt, stored_key, server_key, iterations

        server = scram.make_server(known_of)
        try:
            server.set_client_first(bytes(request.body.auth_bytes).decode())
            peer.answer(request, SaslAuthenticateResponse(auth_bytes=server.get_server_first().encode()))
            request = peer.request()
            server.set_client_final(bytes(request.body.auth_bytes).decode())
        except (ScramException, KeyError):
            return self._verdict(peer, request, "", False)
        final = server.get_server_final().encode()
        if self.forge_proof:
            final = b"v=" + b"A" * (len(final) - 4) + b"=="
        return self._verdict(peer, request, asked_for[0], True, final)

    def _verdict(self, peer: Peer, request: Request, user: str, good: bool, message: bytes = b"") -> bool:
        if not good:
            response = SaslAuthenticateResponse(
                error_code=ErrorCode.sasl_authentication_failed, error_message="Authentication failed"
            )
        else:
            self.logged_in.append(user)
            response = SaslAuthenticateResponse(auth_bytes=message, session_lifetime=self._session)
        peer.answer(request, response)
        return good
