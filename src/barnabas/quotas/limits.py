"""Which limit applies to a client. A quota is set for a user, a client id, both, or their defaults; the closest wins.

In order:

    user and client id          shared by that user's connections with that client id
    user and any client id      the same, each client id separately
    user                        shared by all of the user's connections
    any user and client id      each user with that client id separately
    any user and any client id
    any user                    each user separately
    client id                   shared by all connections with that client id
    any client id               each client id separately
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

QuotaKey = tuple[tuple[str, str | None], ...]
"""Entity types and names, sorted by type; the name None is the default of its type."""

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

USER, CLIENT_ID, IP = "user", "client-id", "ip"

ANONYMOUS: Final = "ANONYMOUS"
"""Every client of a listener without authentication."""

FOUND_MAX: Final = 10_000
"""How many clients' limits are remembered. Clients choose their ids, so there may be any number."""


class Share(NamedTuple):
    """The clients that share a limit; an empty string stands for all."""

    user: str
    client_id: str


class Limits:
    """The limits of one kind, such as `consumer_byte_rate`."""

    def __init__(self, kind: str, quotas: Mapping[QuotaKey, Mapping[str, float]]) -> None:
        self._limits = {key: limits[kind] for key, limits in quotas.items() if kind in limits}
        self._found: dict[tuple[str, str], tuple[Share, float] | None] = {}

    def __bool__(self) -> bool:
        return bool(self._limits)

    def of(self, user: str, client_id: str) -> tuple[Share, float] | None:
        try:
            return self._found[user, client_id]
        except KeyError:
            found = self._find(user, client_id)
        if len(self._found) >= FOUND_MAX:
            self._found.clear()
        self._found[user, client_id] = found
        return found

    def _find(self, user: str, client_id: str) -> tuple[Share, float] | None:
        both, users, clients = Share(user, client_id), Share(user, ""), Share("", client_id)
        candidates: tuple[tuple[QuotaKey, Share], ...] = (
            (((CLIENT_ID, client_id), (USER, user)), both),
            (((CLIENT_ID, None), (USER, user)), both),
            (((USER, user),), users),
            (((CLIENT_ID, client_id), (USER, None)), both),
            (((CLIENT_ID, None), (USER, None)), both),
            (((USER, None),), users),
            (((CLIENT_ID, client_id),), clients),
            (((CLIENT_ID, None),), clients),
        )
        return next(((share, self._limits[key]) for key, share in candidates if key in self._limits), None)


def connection_rates(quotas: Mapping[QuotaKey, Mapping[str, float]]) -> dict[str | None, float]:
    """Connections per second by address; None is every other address."""
    return {
        key[0][1]: limits[CONNECTION_CREATION_RATE]
        for key, limits in quotas.items()
        if key[0][0] == IP and CONNECTION_CREATION_RATE in limits
    }
