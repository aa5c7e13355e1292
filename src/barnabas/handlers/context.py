"""What a handler is told about a request: who sent it, and in which version."""

from collections.abc import Callable
from typing import NamedTuple


class ClientSoftware:
    """The client's name and version, as it sent them in ApiVersions (KIP-511)."""

    __slots__ = ("name", "version")

    def __init__(self) -> None:
        self.name: str | None = None
        self.version: str | None = None


class ClientConnection(NamedTuple):
    """The client's end of a connection, and ours."""

    host: str
    port: int
    listener_name: str
    local_host: str
    """The broker address that the client connected to."""
    software: ClientSoftware | None = None
    on_close: dict[Callable[[], None], None] | None = None
    """Callbacks for when the connection is closed, in the order in which they were added."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class RequestContext(NamedTuple):
    client: ClientConnection
    api_version: int
    requested_version: int
    """The version in the request; differs from `api_version` only for ApiVersions of an unsupported version."""
    client_id: str | None
