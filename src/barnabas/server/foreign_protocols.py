"""What a client speaks if the first four bytes of its request are not the size of one."""

from enum import StrEnum
from typing import Final

# The beginnings of HTTP/1.1 requests, and of every HTTP/2 connection.
_HTTP: Final = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI ")
# A handshake record of TLS 1.0 to 1.3: type 22, then the version, whose first byte is always 3.
_TLS: Final = b"\x16\x03"


class Protocol(StrEnum):
    TLS = "TLS"
    HTTP = "HTTP"
    UNKNOWN = "unknown"


def recognise(size: int) -> Protocol:
    first = size.to_bytes(4, "big", signed=True)
    if first.startswith(_TLS):
        return Protocol.TLS
    return Protocol.HTTP if first in _HTTP else Protocol.UNKNOWN


def explain_size(size: int, size_max: int) -> str:
    """Why the connection is closed, and what to change; `size` is what no request may have."""
    match recognise(size):
        case Protocol.TLS:
            return (
                "it starts a TLS handshake, but this listener has no TLS; set security.protocol=PLAINTEXT in the client"
            )
        case Protocol.HTTP:
            return "it speaks HTTP, but this port speaks the Kafka protocol; point it to another port"
    if size > size_max:
        return f"it announces a request of {size} bytes, more than socket.request.max.bytes ({size_max})"
    return f"it announces a request of {size} bytes, which is no size of a request; is it a Kafka client?"
