"""A small blocking Kafka client over `wire`: one socket, one call per request, every version of every API.

It is the connection of `barnabas.client` without anything added: no retries, no metadata, no batching. Protocol tests
control exactly which bytes are sent, and may send frames that no real client would (`send_frame`).
"""

import socket
from collections.abc import Mapping
from typing import Final

from barnabas.client.connection import Connection
from barnabas.client.connection import request_header as request_header
from barnabas.client.errors import ConnectionClosed as ConnectionClosed
from barnabas.wire.api_table import APIS
from barnabas.wire.errors import ErrorCode

_VERSION_MAX: Final = {api.name: api.version_max for api in APIS}


class Client(Connection):
    """One connection. `call` is a round trip; `send` and `receive` are its halves."""

    def __init__(
        self, host: str, port: int, *, client_id: str | None = "barnabas-testing", timeout_s: float = 10.0
    ) -> None:
        connected = socket.create_connection((host, port), timeout=timeout_s)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(connected, f"{host}:{port}", client_id=client_id)

    def receive_frame(self) -> bytes:
        return bytes(self.receive_frame_view())


def create_topic(client: Client, name: str, *, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
    """Create a topic with one replica; raises with the broker's error message."""
    from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

    configs = tuple(CreatableTopicConfig(name=key, value=value) for key, value in (config or {}).items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
    response = client.call("create_topics", _VERSION_MAX["create_topics"], CreateTopicsRequest(topics=(topic,)))
    (result,) = response.topics
    if result.error_code != ErrorCode.none:
        raise RuntimeError(f"topic {name} was not created: {result.error_message or result.error_code.name}")
