"""The brokers of a cluster and the connections to them: opened when needed, dropped when broken, opened again.

One connection per broker. While requests are in flight on it (`Connection.send` without `receive`), other calls to
that broker use a second one, so that each call reads its own response.
"""

from collections.abc import Iterable

from barnabas.client.dialing import open_connection
from barnabas.client.errors import CannotConnect, ClientError, ConnectionClosed, RequestTimedOut
from barnabas.client.node import Node
from barnabas.client.settings import Address, ClientSettings


class Nodes:
    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._addresses: dict[int, Address] = {}
        self._open: dict[Address, list[Node]] = {}
        """By address, so that a bootstrap address that is also a broker's own needs one connection, not two."""

    def learn(self, addresses: Iterable[tuple[int, str, int]]) -> None:
        """Remember the addresses of brokers."""
        self._addresses.update({node_id: (host, port) for node_id, host, port in addresses})

    def knows(self, node_id: int) -> bool:
        return node_id in self._addresses

    def broker(self, node_id: int) -> Node:
        """The connection to this broker, even with requests in flight."""
        return self._named(node_id, free=False)

    def free(self, node_id: int | None) -> Node:
        """A connection without requests in flight, to this broker or to any."""
        if node_id is not None:
            return self._named(node_id, free=True)
        addresses = list(dict.fromkeys([*self._open, *self._settings.bootstrap, *self._addresses.values()]))
        failures: list[ClientError] = []
        for address in addresses:
            try:
                return self._at(address, free=True)
            except (CannotConnect, ConnectionClosed, RequestTimedOut) as failure:
                failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        raise CannotConnect("; ".join(failure.message for failure in failures), failures[0].hint) from failures[0]

    def drop(self, node_id: int | None) -> None:
        """Forget broken connections, and that broker's address: it may come back at another."""
        if node_id is not None:
            self._addresses.pop(node_id, None)
        for address in list(self._open):
            self._forget_broken(address)

    def close(self) -> None:
        for nodes in self._open.values():
            for node in nodes:
                node.connection.close()
        self._open.clear()

    def _named(self, node_id: int, *, free: bool) -> Node:
        servers = self._settings.bootstrap_servers
        if node_id not in self._addresses:
            raise CannotConnect(
                f"there is no broker {node_id} in the cluster at {servers}",
                "run barnabas cluster describe to see the brokers",
            )
        address = self._addresses[node_id]
        try:
            return self._at(address, free=free)
        except CannotConnect as failure:
            if address in self._settings.bootstrap:
                raise
            raise CannotConnect(
                f"{servers} says that broker {node_id} is at {address[0]}:{address[1]}: {failure.message}",
                "check that this broker runs, and that clients can reach its advertised.listeners from here",
            ) from failure

    def _at(self, address: Address, *, free: bool) -> Node:
        self._forget_broken(address)
        nodes = self._open.setdefault(address, [])
        for node in nodes:
            if not (free and node.connection.in_flight):
                return node
        try:
            nodes.append(self._connect(address))
        finally:
            if not nodes:
                del self._open[address]
        return nodes[-1]

    def _connect(self, address: Address) -> Node:
        connection = open_connection(address, self._settings)
        try:
            return Node(connection)
        except ClientError:
            connection.close()
            raise

    def _forget_broken(self, address: Address) -> None:
        for node in [node for node in self._open.get(address, ()) if node.connection.is_stale()]:
            node.connection.close()
            self._open[address].remove(node)
        if address in self._open and not self._open[address]:
            del self._open[address]
