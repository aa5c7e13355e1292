"""Opens connections: TCP, then TLS and a login where the settings ask for them."""

import socket

from barnabas.client.connection import Connection
from barnabas.client.errors import CannotConnect
from barnabas.client.settings import Address, ClientSettings


def open_connection(address: Address, settings: ClientSettings) -> Connection:
    host, port = address
    named = f"{host}:{port}"
    connected = _dial(address, named, settings.connect_timeout_s)
    if settings.security.tls is not None:
        from barnabas.client.tls import wrap

        connected = wrap(connected, host, named, settings.security.tls)
    connected.settimeout(settings.request_timeout_s)
    connection = Connection(connected, named, client_id=settings.client_id)
    if settings.security.login is not None:
        from barnabas.client.sasl import authenticate

        try:
            authenticate(connection, settings.security.login)
        except BaseException:
            connection.close()
            raise
    return connection


def _dial(address: Address, named: str, timeout_s: float) -> socket.socket:
    try:
        connected = socket.create_connection(address, timeout=timeout_s)
    except OSError as error:
        raise CannotConnect(
            f"cannot reach {named}: {error.strerror or error}",
            "check that the broker runs, and that the address is right",
        ) from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected
