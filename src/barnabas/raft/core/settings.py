"""Kafka's `controller.quorum.*`, with its defaults, and what it has as constants."""

from typing import Final, NamedTuple

CHECK_QUORUM_FACTOR: Final = 1.5
UPDATE_VOTER_FACTOR: Final = 3
"""A voter says after so many fetch timeouts where it listens, if the leader's record differs."""
MAX_FETCH_WAIT_MS: Final = 500
OBSERVER_SESSION_MS: Final = 300_000
CAUGHT_UP_MS_MAX: Final = 10_000
"""A replica becomes a voter if it had all of the leader's log at most so long ago. Kafka allows an hour: long enough
for it to be dead, and the next commit to wait for it."""
UNREACHABLE_JITTER_MS: Final = 50
ELECTION_BACKOFF_BASE_MS: Final = 50


class QuorumSettings(NamedTuple):
    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    election_backoff_max_ms: int = 1000

    @property
    def check_quorum_timeout_ms(self) -> int:
        return int(self.fetch_timeout_ms * CHECK_QUORUM_FACTOR)
