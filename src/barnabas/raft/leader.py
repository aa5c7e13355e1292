"""Appends in its epoch and commits what a majority has on disk.

A leader counts no log end as committed before one record of its own epoch is on a majority's disks: only then are the
earlier epochs' records below it safe too. That is what its LeaderChangeMessage is for, the first record of each epoch.
"""

from dataclasses import dataclass, field

from barnabas.raft.voters import VoterSet


@dataclass(slots=True)
class Leader:
    epoch: int
    voters: VoterSet
    epoch_start_offset: int
    high_watermark: int | None = None
    """Unknown until a record of this epoch is committed; then it only grows."""
    synced_ends: dict[int, int] = field(default_factory=dict)
    """By voter: all below is on its disk."""

    def on_synced(self, voter_id: int, end_offset: int) -> int | None:
        """The high watermark, where it advanced."""
        if voter_id in self.voters.ids:
            self.synced_ends[voter_id] = end_offset
        if len(self.synced_ends) < self.voters.majority:
            return None
        on_majority = sorted(self.synced_ends.values(), reverse=True)[self.voters.majority - 1]
        if on_majority <= self.epoch_start_offset or on_majority <= (self.high_watermark or 0):
            return None
        self.high_watermark = on_majority
        return on_majority
