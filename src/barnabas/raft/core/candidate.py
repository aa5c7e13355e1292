"""A candidate asks for votes in a new epoch. Its own vote counts once it is on disk.

If it loses, it waits for a random time, and longer after each loss in a row: else two candidates may take the votes
from each other forever. Then it asks for pre-votes.
"""

from msgspec import Struct

from barnabas.raft.core.tally import Tally


class Candidate(Struct):
    tally: Tally
    election_deadline_ms: int
    is_backing_off: bool = False
