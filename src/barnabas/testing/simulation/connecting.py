"""`loop.create_connection`: the handshake of TCP, as Linux does it.

A host whose process does not listen refuses at once. If nothing answers, the first packet is sent again after 1, 3, 7,
15, 31 and 63 seconds; after 127 seconds the connection has timed out.
"""

import asyncio
import errno
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from barnabas.testing.simulation.network import Host, Network
from barnabas.testing.simulation.server import Port
from barnabas.testing.simulation.transport import SimulatedTransport

if TYPE_CHECKING:
    from barnabas.testing.simulation.loop import SimulatedLoop

ATTEMPTS: Final = 7


async def connect(
    loop: "SimulatedLoop",
    factory: Callable[[], asyncio.BaseProtocol],
    host: str | None,
    port: int | None,
    **options: Any,
) -> tuple[SimulatedTransport, asyncio.BaseProtocol]:
    if options.get("ssl") is not None or options.get("sock") is not None or port is None:
        raise NotImplementedError("the simulated network connects to a host and port, without TLS")
    network: Network = loop.process.network
    transport = await _Handshake(loop, network.resolve(loop.process.host, host), port).run()
    protocol = factory()
    transport.start(protocol)
    return transport, protocol


class _Handshake:
    def __init__(self, loop: "SimulatedLoop", remote: Host, port: int) -> None:
        self._loop = loop
        self._network: Network = loop.process.network
        self._local: Host = loop.process.host
        self._remote = remote
        self._port = port
        self._outcome: asyncio.Future[SimulatedTransport] = loop.create_future()

    async def run(self) -> SimulatedTransport:
        outcome = self._outcome
        try:
            for attempt in range(ATTEMPTS):
                self._network.send_once(self._local, self._remote, self._arrive_at_port)
                await asyncio.wait([outcome], timeout=2**attempt)
                if outcome.done():
                    return outcome.result()
        except asyncio.CancelledError:
            if outcome.done() and not outcome.cancelled() and outcome.exception() is None:
                outcome.result().close_socket(with_reset=True)
            raise
        finally:
            outcome.cancel()
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))

    def _arrive_at_port(self) -> None:
        """At the remote host."""
        if self._outcome.done():
            return
        port = self._remote.ports.get(self._port)
        if port is None or not port.is_listening:
            self._network.send_once(self._remote, self._local, self._refuse)
        else:
            self._network.send_once(self._remote, self._local, partial(self._establish, port))

    def _refuse(self) -> None:
        if not self._outcome.done():
            error = ConnectionRefusedError(errno.ECONNREFUSED, f"{self._remote.name}:{self._port} refuses connections")
            self._outcome.set_exception(error)

    def _establish(self, port: Port) -> None:
        if self._outcome.done() or self._loop.has_ended:
            return
        if not port.is_listening:
            self._refuse()
            return
        here = self._local.address, self._local.take_port()
        there = self._remote.address, self._port
        client = SimulatedTransport(self._loop, self._network, here, there, self._remote)
        server = SimulatedTransport(port.loop, self._network, there, here, self._local)
        client.peer, server.peer = server, client
        client.send_handshake(partial(port.loop.call_soon, port.accept, server))
        self._outcome.set_result(client)
