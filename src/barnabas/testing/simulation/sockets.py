"""What `get_extra_info("socket")` and `Server.sockets` return: addresses and options, no descriptor."""

import socket
from typing import Any

Address = tuple[str, int]


class SimulatedSocket:
    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, local: Address, remote: Address | None = None) -> None:
        self._local = local
        self._remote = remote
        self._options: dict[tuple[int, int], Any] = {}

    def setsockopt(self, level: int, name: int, value: Any) -> None:
        """Kept for `getsockopt`; the simulated network looks at none of them."""
        self._options[level, name] = value

    def getsockopt(self, level: int, name: int) -> Any:
        return self._options.get((level, name), 0)

    def getsockname(self) -> Address:
        return self._local

    def getpeername(self) -> Address:
        if self._remote is None:
            raise OSError("a listening socket has no peer")
        return self._remote

    def fileno(self) -> int:
        return -1
