"""Flags of `send` that only Linux has."""

import socket
from typing import Final

MORE_FOLLOWS: Final[int] = getattr(socket, "MSG_MORE", 0)
"""Do not send a packet for these bytes alone. Elsewhere there is one packet more."""
