"""A candidate asks for votes in a new epoch. Its own vote counts once it is on disk."""

from dataclasses import dataclass, field

from barnabas.raft.core.voters import VoterSet


@dataclass(slots=True)
class Candidate:
    epoch: int
    voters: VoterSet
    granting_ids: set[int] = field(default_factory=set)

    def grant(self, voter_id: int) -> bool:
        """Whether a majority has granted its vote."""
        if voter_id in self.voters.ids:
            self.granting_ids.add(voter_id)
        return len(self.granting_ids) >= self.voters.majority
