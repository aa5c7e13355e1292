"""A replica that follows the leader without a vote: a broker, or a controller that is not in the voter set (yet).

It never campaigns. If it does not know the leader, or cannot reach it, it asks the others in turn: any of them answers
Fetch with the leader that it knows.
"""

from barnabas.raft.core.follower import Follower
from barnabas.raft.core.ready import Peer


class Observer(Follower):
    is_searching: bool = False
    """The leader did not answer the last request."""


class LeaderSearch:
    """Whom to ask next: the bootstrap servers if there are any, the voters otherwise."""

    def __init__(self, bootstrap: tuple[Peer, ...]) -> None:
        self._bootstrap = bootstrap
        self._turn = 0

    def next_peer(self, voters: tuple[Peer, ...]) -> Peer | None:
        peers = self._bootstrap or voters
        if not peers:
            return None
        self._turn += 1
        return peers[self._turn % len(peers)]
