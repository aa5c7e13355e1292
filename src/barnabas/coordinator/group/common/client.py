"""Who a member is to an administrator: the name its client gave itself, and where it connected from."""

from typing import NamedTuple


class ClientInfo(NamedTuple):
    client_id: str
    client_host: str
