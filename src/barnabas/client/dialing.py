"""From an address to a connection that can be used: TCP, then what the listener wants before it serves."""

import socket

from barnabas.client.connection import Connection
from barnabas.client.errors import CannotConnect
from barnabas.client.settings import Address, ClientSettings


def open_connection(address: Address, settings: ClientSettings) -> Connection:
    host, port = address
    named = f"{host}:{port}"
    try:
        connected = socket.create_connection(address, timeout=settings.connect_timeout_s)
    except OSError as error:
        raise CannotConnect(
            f"cannot reach {named}: {error.strerror or error}",
            "is the broker running, and is the address right for this machine?",
        ) from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.settimeout(settings.request_timeout_s)
    return Connection(connected, named, client_id=settings.client_id)
