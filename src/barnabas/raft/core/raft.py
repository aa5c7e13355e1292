"""The core of Raft: gets events, returns what to persist, append and commit. No I/O, no clock, no event loop.

    role         event                                   next role
    Unattached   time to campaign                        Candidate, in the next epoch
    Resigned     time to campaign                        Candidate, in the next epoch
    Candidate    a majority granted its vote             Leader, in the same epoch
    Leader       the process stops                       Resigned, in the same epoch, at the next start

The caller carries out a `Ready` in the order of its fields, then reports back.
"""

from typing import NamedTuple, TypeAlias

from barnabas.raft.core.candidate import Candidate
from barnabas.raft.core.control_records import ControlMessage, leader_change, quorum_records
from barnabas.raft.core.election_state import NO_LEADER, ElectionState
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.resigned import Resigned
from barnabas.raft.core.unattached import Unattached
from barnabas.raft.core.voters import ReplicaKey, VoterSet

Role: TypeAlias = Unattached | Resigned | Candidate | Leader


class Ready(NamedTuple):
    election: ElectionState | None = None
    """Write this to disk before anything else; then call `on_election_persisted`."""
    append: tuple[ControlMessage, ...] = ()
    """Append this control batch, sync, and call `on_synced`."""
    high_watermark: int | None = None
    """Everything below is committed."""


class Raft:
    def __init__(
        self,
        *,
        local: ReplicaKey,
        voters: VoterSet,
        election: ElectionState | None,
        log_end_offset: int,
        log_epoch: int,
    ) -> None:
        self._local = local
        self.voters = voters
        self._log_end_offset = log_end_offset
        epoch = max(0 if election is None else election.epoch, log_epoch)
        led = election is not None and election.leader_id == local.id and election.epoch == epoch
        self.role: Role = Resigned(epoch) if led else Unattached(epoch)

    @property
    def epoch(self) -> int:
        return self.role.epoch

    @property
    def leader_id(self) -> int:
        return self._local.id if isinstance(self.role, Leader) else NO_LEADER

    @property
    def high_watermark(self) -> int | None:
        return self.role.high_watermark if isinstance(self.role, Leader) else None

    def campaign(self) -> Ready:
        self.role = Candidate(self.role.epoch + 1, self.voters)
        return Ready(election=ElectionState(self.role.epoch, voted=self._local))

    def on_election_persisted(self) -> Ready:
        """A candidate's vote for itself is on disk."""
        if not isinstance(self.role, Candidate) or not self.role.grant(self._local.id):
            return Ready()
        candidate = self.role
        self.role = Leader(candidate.epoch, self.voters, epoch_start_offset=self._log_end_offset)
        first = leader_change(self._local.id, self.voters, tuple(sorted(candidate.granting_ids)))
        # The very first leader copies the voters from the bootstrap snapshot into the log.
        bootstrap = quorum_records(self.voters) if self._log_end_offset == 0 else ()
        return Ready(
            election=ElectionState(candidate.epoch, leader_id=self._local.id),
            append=(first, *bootstrap),
        )

    def on_synced(self, end_offset: int) -> Ready:
        """Everything below `end_offset` is on our disk."""
        if not isinstance(self.role, Leader):
            return Ready()
        return Ready(high_watermark=self.role.on_synced(self._local.id, end_offset))
