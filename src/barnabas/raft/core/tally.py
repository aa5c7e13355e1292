"""The votes of one election, or of one pre-vote."""

from msgspec import Struct, field

from barnabas.raft.core.voters import Voter, VoterSet


class Tally(Struct):
    voters: VoterSet
    granting_ids: set[int] = field(default_factory=set)
    rejecting_ids: set[int] = field(default_factory=set)

    def record(self, voter_id: int, *, granted: bool) -> None:
        if voter_id in self.voters.ids:
            (self.granting_ids if granted else self.rejecting_ids).add(voter_id)

    @property
    def is_won(self) -> bool:
        return len(self.granting_ids) >= self.voters.majority

    @property
    def is_lost(self) -> bool:
        return len(self.voters.voters) - len(self.rejecting_ids) < self.voters.majority

    @property
    def unanswered(self) -> list[Voter]:
        answered = self.granting_ids | self.rejecting_ids
        return [voter for voter in self.voters.voters if voter.key.id not in answered]
