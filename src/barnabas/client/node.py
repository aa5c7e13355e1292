"""A broker as its client sees it: a connection, and the versions that both sides know."""

import struct
from typing import Any, Final

from barnabas.client.connection import Connection
from barnabas.client.errors import ClosedOnFirstRequest, ConnectionClosed, Refused, UnsupportedApi
from barnabas.wire.api_table import APIS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest

_KNOWN: Final = {api.name: api for api in APIS}
# From the next version on topics have ids instead of names, and our callers deal in names.
_VERSION_CAPS: Final = {"offset_commit": 9, "offset_fetch": 9}
_SOFTWARE: Final = "barnabas"
_ASKED_VERSION: Final = 3
_TOO_NEW: Final = struct.pack(">h", ErrorCode.unsupported_version)


class Node:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.described = _describe(connection)
        if self.described.error_code != ErrorCode.none:
            raise Refused(self.described.error_code, f"{connection.address} does not answer ApiVersions")
        self._ranges = {key.api_key: (key.min_version, key.max_version) for key in self.described.api_keys}

        self._has_answered = False

    def call(self, api_name: str, request: object) -> Any:
        version = self.version(api_name)
        return self.connection.decode(api_name, version, self._ask(api_name, version, request))

    def serves(self, api_name: str) -> bool:
        return self._common_version(api_name, None) is not None

    def version(self, api_name: str, newest: int | None = None) -> int:
        """The newest that both sides know, and none after `newest`."""
        version = self._common_version(api_name, newest)
        if version is None:
            raise UnsupportedApi(
                f"the broker at {self.connection.address} serves no version of {api_name} that this client knows",
                "a Kafka broker of version 2.1 or later is needed (barnabas kafka-broker-api-versions lists its APIs)",
            )
        return version

    def _ask(self, api_name: str, version: int, request: object) -> memoryview:
        try:
            self.connection.send(api_name, version, request)
            body = self.connection.receive_body()
        except ConnectionClosed as closed:
            if self._has_answered:
                raise
            raise ClosedOnFirstRequest(
                f"{closed.message}, after the request {api_name}",
                "if this listener wants a login, set security.protocol and sasl.*; see also the broker's log",
            ) from closed
        self._has_answered = True
        return body

    def _common_version(self, api_name: str, newest: int | None) -> int | None:
        known = _KNOWN[api_name]
        lowest, highest = self._ranges.get(known.key, (0, -1))
        cap = _VERSION_CAPS.get(api_name, known.version_max) if newest is None else newest
        version = min(known.version_max, highest, cap)
        return None if version < max(known.version_min, lowest) else int(version)


def _describe(connection: Connection) -> Any:
    from barnabas import __version__

    request = ApiVersionsRequest(client_software_name=_SOFTWARE, client_software_version=__version__)
    connection.send("api_versions", _ASKED_VERSION, request)
    body = connection.receive_body()
    if bytes(body[:2]) == _TOO_NEW:
        # A broker that does not know the version says so in the oldest one.
        return connection.call("api_versions", 0, ApiVersionsRequest())
    return connection.decode("api_versions", _ASKED_VERSION, body)
