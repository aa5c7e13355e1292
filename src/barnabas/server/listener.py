"""A listening socket and its connections."""

import asyncio
import logging
import socket
from typing import Final

from barnabas.server.connection import Connection, ConnectionSettings
from barnabas.server.dispatch import Dispatcher
from barnabas.server.limits import ConnectionGate, ConnectionRateExceeded, TooManyConnections

logger = logging.getLogger(__name__)

SWEEP_SECONDS_MAX: Final = 30.0
# How long a closed connection may take to send its last bytes to a slow client.
FLUSH_SECONDS_MAX: Final = 1.0


class Listener:
    def __init__(
        self,
        name: str,
        dispatcher: Dispatcher,
        gate: ConnectionGate,
        settings: ConnectionSettings,
        *,
        backlog: int,
        idle_seconds_max: float,
    ) -> None:
        self.name = name
        self._dispatcher = dispatcher
        self._gate = gate
        self._settings = settings
        self._backlog = backlog
        self._idle_seconds_max = idle_seconds_max
        self._connections: dict[Connection, None] = {}
        self._refused: dict[Connection, None] = {}
        self._empty = asyncio.Event()
        self._empty.set()
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def bind(self, host: str, port: int) -> int:
        """Returns the port, which the system chooses if `port` is 0. Raises OSError if the address cannot be bound."""
        loop = asyncio.get_running_loop()
        self.now = loop.time
        self._server = await loop.create_server(
            lambda: Connection(self, self._dispatcher, self._settings),
            host or None,
            port,
            backlog=self._backlog,
            reuse_address=True,
            family=socket.AF_UNSPEC if host else socket.AF_INET,
            start_serving=False,
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def serve(self) -> None:
        """Start to accept connections."""
        if self._server is None:
            raise RuntimeError("bind first")
        await self._server.start_serving()
        self._schedule_sweep()

    def admit(self, connection: Connection) -> None:
        """Called by a new connection: accept it, make it wait, or close it."""
        try:
            wait_seconds = self._gate.enter(connection.client.host, self.now())
        except TooManyConnections as refusal:
            connection.close(str(refusal))
            return
        except ConnectionRateExceeded as refusal:
            self._refuse_later(connection, refusal)
            return
        self._connections[connection] = None
        self._empty.clear()
        if wait_seconds > 0:
            connection.hold()
            asyncio.get_running_loop().call_later(wait_seconds, connection.release)

    def _refuse_later(self, connection: Connection, refusal: ConnectionRateExceeded) -> None:
        connection.hold()
        self._refused[connection] = None
        asyncio.get_running_loop().call_later(refusal.close_after_seconds, connection.close, str(refusal))

    def forget(self, connection: Connection) -> None:
        self._refused.pop(connection, None)
        if connection in self._connections:
            del self._connections[connection]
            self._gate.leave(connection.client.host)
            if not self._connections:
                self._empty.set()

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._sweep is not None:
            self._sweep.cancel()

    async def close(self, *, grace_seconds: float) -> None:
        """Stop accepting, let requests in progress finish, then close all connections."""
        self.stop_accepting()
        unfinished = [task for connection in self._connections for task in connection.tasks]
        if unfinished:
            await asyncio.wait(unfinished, timeout=grace_seconds)
        for connection in [*self._connections, *self._refused]:
            connection.close("the broker is shutting down")
        try:
            await asyncio.wait_for(self._empty.wait(), FLUSH_SECONDS_MAX)
        except TimeoutError:
            for connection in list(self._connections):
                connection.transport.abort()

    def _schedule_sweep(self) -> None:
        interval = min(self._idle_seconds_max / 4, SWEEP_SECONDS_MAX)
        self._sweep = asyncio.get_running_loop().call_later(interval, self._sweep_idle)

    def _sweep_idle(self) -> None:
        now = self.now()
        for connection in list(self._connections):
            if connection.was_active:
                connection.was_active = False
                connection.last_active = now
            idle_seconds = now - connection.last_active
            if idle_seconds > self._idle_seconds_max and connection.idle:
                connection.close(f"idle for {idle_seconds:.0f} s (connections.max.idle.ms)")
            elif idle_seconds > SWEEP_SECONDS_MAX:
                connection.shrink()
        self._schedule_sweep()
