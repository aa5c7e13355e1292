"""Checks that a broker can be reached at all.

Clients keep trying to reach a broker that does not run. A plain TCP connection fails at once and says why, so commands
try that first.
"""

import socket
from typing import Final

from barnabas.cli.errors import CommandFailed

CONNECT_TIMEOUT_S: Final = 3.0


def check_reachable(servers: str, *, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
    """Return if any of the servers accepts a connection."""
    from barnabas.client.errors import BadProperty
    from barnabas.client.properties import parse_address

    reason = "no address given"
    for server in servers.split(","):
        try:
            socket.create_connection(parse_address(server), timeout=timeout_s).close()
        except BadProperty as error:
            raise CommandFailed(f"--bootstrap-server: {error.problem}", hint=error.hint) from error
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            return
    raise CommandFailed(
        f"cannot reach {servers}: {reason}",
        hint="start a broker there with barnabas serve, or give another address with -b HOST:PORT",
    )
