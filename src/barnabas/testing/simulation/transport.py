"""One end of a simulated TCP connection, as an asyncio transport.

The kernel's half goes on while the process is paused: bytes arrive (`arrive_...`) and wait in the socket buffer. The
process's half runs as callbacks on its loop, as in asyncio: the protocol gets bytes in pieces of any size, a reset is
noticed by reading or writing, and a writer is paused when the buffers of both sides are full.
"""

import asyncio
import errno
import os
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from barnabas.testing.simulation.network import Host, Network
from barnabas.testing.simulation.pipe import Pipe
from barnabas.testing.simulation.sockets import Address, SimulatedSocket
from barnabas.testing.simulation.trace import describe_bytes

if TYPE_CHECKING:
    from barnabas.testing.simulation.loop import SimulatedLoop

SOCKET_BYTES: Final = 128 * 1024
"""What the kernels of both sides buffer in one direction."""
READ_BYTES_MAX: Final = 64 * 1024
HIGH_WATER_BYTES: Final = 64 * 1024
_SPLIT_CHANCE: Final = 0.1
"""Of a write that arrives in two pieces."""


class SimulatedTransport(asyncio.Transport):
    peer: "SimulatedTransport"

    def __init__(self, loop: "SimulatedLoop", network: Network, local: Address, remote: Address, target: Host) -> None:
        super().__init__({"sockname": local, "peername": remote, "socket": SimulatedSocket(local, remote)})
        self.host = loop.process.host
        self._loop = loop
        self._network = network
        self._pipe = Pipe(network, self.host, target, partial(self.arrive_reset, errno.ETIMEDOUT))
        self._protocol: asyncio.BaseProtocol | None = None
        self._name = f"{local[0]}:{local[1]}"
        # the kernel's half
        self._received = bytearray()
        self._end_received = False
        self._error: OSError | None = None
        self._is_socket_closed = False
        self._in_flight = 0
        """Bytes that the other side has not read yet, as far as this side knows."""
        self._unacknowledged = 0
        """Bytes read here that the other side does not know of."""
        # the process's half
        self._outgoing: deque[bytes] = deque()
        self._outgoing_bytes = 0
        self._high_water, self._low_water = HIGH_WATER_BYTES, HIGH_WATER_BYTES // 4
        self._is_protocol_paused = False
        self._is_paused = False
        self._is_closing = False
        self._is_lost = False
        self._eof_asked = False
        self._eof_sent = False
        self._eof_reported = False
        self._read_is_due = False
        self.on_closed: Callable[[], None] = lambda: None
        self.host.connections[self] = None

    def start(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)
        self._read_soon()

    def send_handshake(self, accept: Callable[[], object]) -> None:
        """The last packet of the handshake: the other side accepts the connection when it arrives."""
        self._pipe.send(lambda: self.peer.arrive_handshake(accept))

    # --- the kernel: what arrives

    def arrive_handshake(self, accept: Callable[[], object]) -> None:
        if self._is_socket_closed:
            self._refuse()
        else:
            accept()

    def arrive_data(self, data: bytes) -> None:
        if self._is_socket_closed:
            self._refuse()
            return
        self._trace(f"got {describe_bytes(data)}")
        self._received += data
        self._read_soon()

    def arrive_end(self) -> None:
        if not self._is_socket_closed:
            self._end_received = True
            self._read_soon()

    def arrive_reset(self, number: int = errno.ECONNRESET) -> None:
        if self._is_socket_closed or self._error is not None:
            return
        kind = ConnectionResetError if number == errno.ECONNRESET else TimeoutError
        self._error = kind(number, os.strerror(number))
        self._trace(f"reset: {kind.__name__}")
        self._pipe.drop()
        self._read_soon()
        if self._outgoing:
            self._loop.call_soon(self._lose, self._error)

    def arrive_acknowledgement(self, size: int) -> None:
        self._in_flight -= size
        if self._outgoing:
            self._loop.call_soon(self._write_more)

    def _refuse(self) -> None:
        """Nobody reads here any more."""
        self._network.send_once(self.host, self.peer.host, self.peer.arrive_reset)

    def close_socket(self, *, with_reset: bool) -> None:
        """The kernel closes the socket of a process that closes it, or has ended."""
        if self._is_socket_closed:
            return
        self._is_socket_closed = True
        self.host.connections.pop(self, None)
        self.on_closed()
        if self._error is not None:
            return
        if with_reset or self._received:
            self._pipe.send_reset(self.peer.arrive_reset)
        elif not self._eof_sent:
            self._eof_sent = True
            self._pipe.send(self.peer.arrive_end)

    def end_process(self, *, with_reset: bool) -> None:
        self._is_closing = True
        self.close_socket(with_reset=with_reset)

    def lose_power(self) -> None:
        self._is_closing = self._is_socket_closed = True
        self.host.connections.pop(self, None)

    # --- the process: reading

    def _read_soon(self) -> None:
        if self._read_is_due or self._is_paused or self._is_closing or self._protocol is None:
            return
        self._read_is_due = True
        self._loop.call_soon(self._read)

    def _read(self) -> None:
        self._read_is_due = False
        if self._is_paused or self._is_closing:
            return
        if self._received:
            self._feed()
        elif self._error is not None:
            self._lose(self._error)
            return
        elif self._end_received and not self._eof_reported:
            self._eof_reported = True
            if not _stream(self._protocol).eof_received():
                self.close()
            return
        if self._received or self._error is not None or (self._end_received and not self._eof_reported):
            self._read_soon()

    def _feed(self) -> None:
        protocol = self._protocol
        if isinstance(protocol, asyncio.BufferedProtocol):
            window = memoryview(protocol.get_buffer(-1))
            size = min(len(window), len(self._received), READ_BYTES_MAX)
            if not size:
                raise RuntimeError("get_buffer() returned an empty buffer")
            window[:size] = self._received[:size]
            self._consume(size)
            protocol.buffer_updated(size)
        else:
            data = bytes(self._received[:READ_BYTES_MAX])
            self._consume(len(data))
            _stream(protocol).data_received(data)

    def _consume(self, size: int) -> None:
        del self._received[:size]
        self._unacknowledged += size
        if self._unacknowledged >= SOCKET_BYTES // 4:
            size, self._unacknowledged = self._unacknowledged, 0
            self._pipe.send(partial(self.peer.arrive_acknowledgement, size))

    def pause_reading(self) -> None:
        if not self._is_closing:
            self._is_paused = True

    def resume_reading(self) -> None:
        if self._is_paused and not self._is_closing:
            self._is_paused = False
            self._read_soon()

    def is_reading(self) -> bool:
        return not (self._is_paused or self._is_closing)

    # --- the process: writing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._eof_asked:
            raise RuntimeError("cannot call write() after write_eof()")
        if self._is_closing or not data:
            return
        if self._error is not None:
            self._loop.call_soon(self._lose, self._error)
            return
        self._outgoing.append(bytes(data))
        self._outgoing_bytes += len(data)
        self._send()
        if self._outgoing_bytes > self._high_water and not self._is_protocol_paused:
            self._is_protocol_paused = True
            _base(self._protocol).pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def _send(self) -> None:
        while self._outgoing and self._in_flight < SOCKET_BYTES:
            data = self._outgoing.popleft()
            size = min(len(data), SOCKET_BYTES - self._in_flight)
            if size > 1 and self._network.random.random() < _SPLIT_CHANCE:
                size = self._network.random.randrange(1, size)
            if size < len(data):
                self._outgoing.appendleft(data[size:])
            self._outgoing_bytes -= size
            self._in_flight += size
            if not self._loop.has_ended:
                self._pipe.send(partial(self.peer.arrive_data, data[:size]))

    def _write_more(self) -> None:
        self._send()
        if self._is_protocol_paused and self._outgoing_bytes <= self._low_water:
            self._is_protocol_paused = False
            _base(self._protocol).resume_writing()
        if not self._outgoing:
            self._after_last_write()

    def _after_last_write(self) -> None:
        if self._is_closing:
            self._end(None)
        elif self._eof_asked and not self._eof_sent and not self._loop.has_ended:
            self._eof_sent = True
            self._pipe.send(self.peer.arrive_end)

    def write_eof(self) -> None:
        if self._is_closing or self._eof_asked:
            return
        self._eof_asked = True
        if not self._outgoing:
            self._after_last_write()

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return self._outgoing_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low_water, self._high_water

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high_water = high if high is not None else 4 * low if low is not None else HIGH_WATER_BYTES
        self._low_water = low if low is not None else self._high_water // 4

    # --- the process: the end

    def close(self) -> None:
        """Send what was written, then close."""
        if self._is_closing:
            return
        self._is_closing = True
        if not self._outgoing:
            self._end(None)

    def abort(self) -> None:
        self._lose(None)

    def is_closing(self) -> bool:
        return self._is_closing

    def _lose(self, error: OSError | None) -> None:
        self._is_closing = True
        self._outgoing.clear()
        self._outgoing_bytes = 0
        self._end(error)

    def _end(self, error: OSError | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._loop.call_soon(self._report_end, error)

    def _report_end(self, error: OSError | None) -> None:
        self.close_socket(with_reset=False)
        _base(self._protocol).connection_lost(error)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return _base(self._protocol)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        self._read_soon()

    def _trace(self, event: str) -> None:
        scheduler = self._network.scheduler
        scheduler.trace.add(scheduler.now_us, self._name, event)


def _base(protocol: asyncio.BaseProtocol | None) -> asyncio.BaseProtocol:
    if protocol is None:
        raise RuntimeError("the connection was not started")
    return protocol


def _stream(protocol: asyncio.BaseProtocol | None) -> Any:
    return _base(protocol)
