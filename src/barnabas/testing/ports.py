"""Picks a port that a broker can keep over restarts.

Ports that the kernel assigns (port 0) are from the range of outgoing connections. While a broker is down, a client that
keeps connecting to such a port may get that very port as its own, connect to itself, and block the broker's restart. So
brokers of tests listen on ports below that range.
"""

import socket
from random import SystemRandom

_RANGE_FILE = "/proc/sys/net/ipv4/ip_local_port_range"
_LOWEST = 10_000
_ATTEMPTS = 200

# Not the seeded generator of the test run: parallel workers share the seed and would pick the same port.
_random = SystemRandom()


def pick_free_port(host: str = "127.0.0.1") -> int:
    ceiling = max(_outgoing_range_start(), _LOWEST + 1000)
    for _ in range(_ATTEMPTS):
        port = _random.randrange(_LOWEST, ceiling)
        if is_free(port, host):
            return port
    raise RuntimeError(f"no free port found between {_LOWEST} and {ceiling} in {_ATTEMPTS} attempts")


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as probe:
        # As the broker binds it: connections of a broker that has just died do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def _outgoing_range_start() -> int:
    try:
        with open(_RANGE_FILE) as file:
            return int(file.read().split()[0])
    except (OSError, ValueError):
        return 32_768
