"""Listening sockets: `loop.create_server`."""

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from barnabas.testing.simulation.network import Host
from barnabas.testing.simulation.sockets import SimulatedSocket
from barnabas.testing.simulation.transport import SimulatedTransport

if TYPE_CHECKING:
    from barnabas.testing.simulation.loop import SimulatedLoop

ProtocolFactory = Callable[[], asyncio.BaseProtocol]
_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})


class Port:
    """Bound by a process. Connections are refused until it listens."""

    def __init__(self, loop: "SimulatedLoop", factory: ProtocolFactory, server: "SimulatedServer") -> None:
        self.loop = loop
        self.is_listening = False
        self._factory = factory
        self._server = server

    def accept(self, transport: SimulatedTransport) -> None:
        if self.is_listening:
            self._server.attach(transport)
            transport.start(self._factory())
        else:
            transport.close_socket(with_reset=True)


class SimulatedServer(asyncio.AbstractServer):
    def __init__(self, loop: "SimulatedLoop", factory: ProtocolFactory, address: str, number: int) -> None:
        self._loop = loop
        self._host: Host = loop.process.host
        self._number = number
        self._port = Port(loop, factory, self)
        self._socket = SimulatedSocket((address, number))
        self._is_closed = False
        self._accepted: dict[SimulatedTransport, None] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._host.ports[number] = self._port

    @property
    def sockets(self) -> tuple[SimulatedSocket, ...]:
        return () if self._is_closed else (self._socket,)

    def attach(self, transport: SimulatedTransport) -> None:
        self._accepted[transport] = None
        transport.on_closed = partial(self._detach, transport)

    def _detach(self, transport: SimulatedTransport) -> None:
        del self._accepted[transport]
        self._wake_if_closed()

    def _wake_if_closed(self) -> None:
        if self._is_closed and not self._accepted:
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return self._port.is_listening

    async def start_serving(self) -> None:
        if self._is_closed:
            raise RuntimeError("the server is closed")
        self._port.is_listening = True

    async def serve_forever(self) -> None:
        await self.start_serving()
        try:
            await self._loop.create_future()
        finally:
            self.close()

    def close(self) -> None:
        self._port.is_listening = False
        if not self._is_closed and self._host.ports.get(self._number) is self._port:
            del self._host.ports[self._number]
        self._is_closed = True
        self._wake_if_closed()

    async def wait_closed(self) -> None:
        """Until the server and all its connections are closed."""
        if not self._is_closed or self._accepted:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(waiter)
            await waiter


async def listen(
    loop: "SimulatedLoop",
    factory: ProtocolFactory,
    host: str | Sequence[str] | None,
    port: int | None,
    *,
    start_serving: bool = True,
    **options: Any,
) -> SimulatedServer:
    if options.get("ssl") is not None or options.get("sock") is not None:
        raise NotImplementedError("the simulated network has no TLS and no sockets of the system")
    local: Host = loop.process.host
    for name in [host] if isinstance(host, str) or host is None else host:
        if name not in _ALL_ADDRESSES and loop.process.network.resolve(local, name) is not local:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL), name)
    number = port or local.take_port()
    if number in local.ports:
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    server = SimulatedServer(loop, factory, local.address, number)
    if start_serving:
        await server.start_serving()
    return server
