"""A TCP proxy that keeps the bytes of requests and responses by API and version.

A client that calls itself `capture-3` is shown an older server: the newest three versions of every API are taken out
of what the server says about itself, down to the oldest that it has. So Kafka's own clients speak, and Kafka's server
answers, in versions that they would not choose today.
"""

import contextlib
import re
import socket
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final, NamedTuple

from barnabas.wire.api_table import API_VERSIONS, METADATA
from barnabas.wire.codec import decode_response, encode_response
from barnabas.wire.frame import read_request_header

OURS: Final = "barnabas-capture"
"""A client whose requests are not worth keeping: we wrote them."""

_SIZE: Final = struct.Struct(">i")
_SASL_HANDSHAKE: Final = 17
_UNCHANGED: Final = (API_VERSIONS.key, _SASL_HANDSHAKE)
"""After the first version of SaslHandshake come bytes that are not requests."""
_SPOKEN_SINCE: Final = {METADATA.key: 1}
"""Versions that Kafka's server still has, and its clients do not."""
_OLDER: Final = re.compile(r"capture-(\d+)$")


class Kind(NamedTuple):
    api_key: int
    version: int
    direction: str
    """request or response"""


Asked = deque[tuple[Kind, int]]
"""Requests without a response yet, oldest first, and how many versions their client is not to know of."""
Look = Callable[[bytes, Asked], bytes]


class Recorder:
    """All that passed, as a whole each: header and body, without the size in front."""

    def __init__(self) -> None:
        self.seen: defaultdict[Kind, set[bytes]] = defaultdict(set)
        self._lock = threading.Lock()

    def keep(self, kind: Kind, payload: bytes) -> None:
        with self._lock:
            self.seen[kind].add(payload)


class Proxy:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = ("", 0)

    def start(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self._server = (host, int(port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._server)
        except OSError:  # the server is not there yet, or no more
            client.close()
            return
        asked: Asked = deque()
        ways = ((client, server, self._request), (server, client, self._response))
        for source, target, look in ways:
            threading.Thread(target=self._pump, args=(source, target, look, asked), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, look: Look, asked: Asked) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                (size,) = _SIZE.unpack(_exactly(source, _SIZE.size))
                payload = look(_exactly(source, size), asked)
                target.sendall(_SIZE.pack(len(payload)) + payload)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()

    def _request(self, payload: bytes, asked: Asked) -> bytes:
        api_key, version, _, client_id, _ = read_request_header(memoryview(payload))
        if client_id != OURS:
            self._recorder.keep(Kind(api_key, version, "request"), payload)
        older = _OLDER.search(client_id or "")
        asked.append((Kind(api_key, version, "response"), int(older[1]) if older else 0))
        return payload

    def _response(self, payload: bytes, asked: Asked) -> bytes:
        kind, hidden = asked.popleft()
        self._recorder.keep(kind, payload)
        return _older_server(payload, kind.version, hidden) if kind.api_key == API_VERSIONS.key and hidden else payload


def _exactly(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _older_server(payload: bytes, version: int, hidden: int) -> bytes:
    """Without the newest versions, and without transactions of the second version, which clients learn of here too."""
    response = decode_response("api_versions", version, payload, 4)
    keys = tuple(
        key.replace(max_version=max(key.min_version, _SPOKEN_SINCE.get(key.api_key, 0), key.max_version - hidden))
        if key.api_key not in _UNCHANGED
        else key
        for key in response.api_keys
    )
    features = tuple(each for each in response.finalized_features if each.name != "transaction.version")
    older = response.replace(api_keys=keys, finalized_features=features)
    return payload[:4] + encode_response("api_versions", version, older)
