"""A leader appends in its epoch, and commits what a majority has on disk.

It commits nothing before a record of its own epoch is on the disks of a majority: only then are the records of earlier
epochs before it safe, too. The first record of each epoch, LeaderChangeMessage, serves this purpose.
"""

from dataclasses import dataclass, field

from barnabas.raft.core.voters import VoterSet


@dataclass(slots=True)
class Leader:
    epoch: int
    voters: VoterSet
    epoch_start_offset: int
    high_watermark: int | None = None
    """Unknown until a record of this epoch is committed; it never decreases."""
    synced_ends: dict[int, int] = field(default_factory=dict)
    """By voter: everything below is on its disk."""

    def on_synced(self, voter_id: int, end_offset: int) -> int | None:
        """The new high watermark; None if it did not advance."""
        if voter_id in self.voters.ids:
            self.synced_ends[voter_id] = end_offset
        if len(self.synced_ends) < self.voters.majority:
            return None
        on_majority = sorted(self.synced_ends.values(), reverse=True)[self.voters.majority - 1]
        if on_majority <= self.epoch_start_offset or on_majority <= (self.high_watermark or 0):
            return None
        self.high_watermark = on_majority
        return on_majority
