"""Sends answers that contain parts of files: the kernel copies these to the socket, as much as it has room for.

The rest is read, and left to the transport. A transport knows no files, so its socket is used directly, which is safe
only while the transport has nothing left to send, and does not encrypt.
"""

import asyncio
import socket
from collections.abc import Sequence

from barnabas.env import FileRange
from barnabas.portable.sockets import MORE_FOLLOWS

Buffers = list[bytes | FileRange]
"""A complete response frame; empty if the client wants no response (acks=0)."""


def send(transport: asyncio.Transport, buffers: Sequence[bytes | FileRange]) -> None:
    """Raises EOFError or OSError if a file cannot be read: part of the answer was sent then."""
    sent = _send_now(transport, buffers)
    rest = []
    for buffer in buffers:
        if sent < len(buffer):
            rest.append(buffer.read(sent) if isinstance(buffer, FileRange) else buffer[sent:])
        sent = max(sent - len(buffer), 0)
    if rest:
        transport.writelines(rest)


def _send_now(transport: asyncio.Transport, buffers: Sequence[bytes | FileRange]) -> int:
    """How many bytes the socket took."""
    if transport.get_write_buffer_size() or transport.is_closing() or transport.get_extra_info("sslcontext"):
        return 0
    known = transport.get_extra_info("socket")
    connected = socket.socket(known.family, known.type, known.proto, fileno=known.fileno())
    total = 0
    try:
        for place, buffer in enumerate(buffers, 1):
            if isinstance(buffer, FileRange):
                sent = buffer.send_to(connected.fileno())
            else:
                sent = connected.send(buffer, MORE_FOLLOWS if place < len(buffers) else 0)
            total += sent
            if sent < len(buffer):
                break
    except OSError:
        pass  # there is no room; or the connection is lost, which the transport is about to notice
    finally:
        connected.detach()
    return total
