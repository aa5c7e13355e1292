"""A voter that asks whether it would be elected, without a new epoch: so one that was cut off disturbs nobody.

Pre-votes bind nobody, and are not written to disk. If it loses, it follows the leader that it knows, or waits for one.
"""

from msgspec import Struct

from barnabas.raft.core.tally import Tally
from barnabas.raft.core.voters import Endpoints


class Prospective(Struct):
    tally: Tally
    election_deadline_ms: int
    leader_endpoints: Endpoints = ()
    """Of the leader that it followed in this epoch, if it did."""
