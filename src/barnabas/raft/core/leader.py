"""A leader appends in its epoch, and commits what a majority of the voters has on disk.

It commits nothing before a record of its own epoch is on the disks of a majority: only then are the records of earlier
epochs before it safe, too. The first record of each epoch, LeaderChangeMessage, serves this purpose.

It leads as long as it hears from a majority (check-quorum): without that, a new leader may have committed records that
this one does not know.
"""

from msgspec import Struct, field

from barnabas.raft.core.messages import AddVoterRequest, FetchRequest, RemoveVoterRequest, UpgradeKRaftVersionRequest
from barnabas.raft.core.voters import NO_DIRECTORY, ReplicaKey, Voter, VoterSet


class Replica(Struct):
    """What the leader knows of another replica, by its fetches."""

    end_offset: int | None = None
    """Everything below is on its disk. Unknown before its first fetch in this epoch."""
    last_fetch_ms: int = -1
    last_fetch_log_end: int = -1
    """The end of the leader's log at that time."""
    last_caught_up_ms: int = -1

    def on_fetch(self, end_offset: int, log_end: int, now_ms: int) -> None:
        if end_offset >= log_end:
            self.last_caught_up_ms = now_ms
        elif self.last_fetch_log_end >= 0 and end_offset >= self.last_fetch_log_end:
            self.last_caught_up_ms = self.last_fetch_ms  # it now has what was all of the log then
        self.end_offset, self.last_fetch_log_end, self.last_fetch_ms = end_offset, log_end, now_ms


class ParkedFetch(Struct):
    """It waits for something to answer."""

    request: FetchRequest
    deadline_ms: int


class PendingChange(Struct):
    """A change of the voters. There is one at a time: majorities of the voters before and after it overlap."""

    request_id: object
    request: AddVoterRequest | RemoveVoterRequest | UpgradeKRaftVersionRequest
    deadline_ms: int
    versions_request_id: int | None = None
    """Of the question to a new voter; while it is not None nothing was appended."""
    offset: int | None = None
    """Of the record; the change is done once that is committed."""


class Leader(Struct):
    local: ReplicaKey
    epoch_start_offset: int
    since_ms: int
    granting_ids: frozenset[int]
    high_watermark: int | None = None
    """Unknown until a record of this epoch is committed; it never decreases."""
    is_established: bool = False
    """That it leads is on disk, and the first record of its epoch in the log: now it may append and answer fetches."""
    replicas: dict[ReplicaKey, Replica] = field(default_factory=dict)
    """The others by id and directory: a voter whose disk was replaced is another one."""
    acknowledged_ids: set[int] = field(default_factory=set)
    begin_epoch_ms: int = 0
    """When BeginQuorumEpoch is sent next."""
    parked: dict[object, ParkedFetch] = field(default_factory=dict)
    change: PendingChange | None = None
    reported: dict[int, Voter] = field(default_factory=dict)
    """With kraft.version 0: the voters' directories and endpoints as they reported them, for an upgrade to 1."""
    resign_requested: bool = False

    def replica(self, key: ReplicaKey) -> Replica:
        return self.replicas.setdefault(key, Replica())

    def of_voter(self, voter: ReplicaKey) -> Replica | None:
        """A voter without a directory id is found by its node id; the latest to fetch, if there were several."""
        if voter.directory_id != NO_DIRECTORY:
            return self.replicas.get(voter)
        found = [replica for key, replica in self.replicas.items() if voter.matches(key)]
        return max(found, key=lambda replica: replica.last_fetch_ms, default=None)

    def forget_silent(self, voters: VoterSet, since_ms: int) -> None:
        """Observers that do not fetch any more."""
        silent = [key for key, replica in self.replicas.items() if replica.last_fetch_ms < since_ms]
        for key in silent:
            if key not in voters:
                del self.replicas[key]

    def advance(self, voters: VoterSet, local_synced_end: int) -> int | None:
        """The new high watermark; None if it did not advance."""
        ends = []
        for voter in voters.voters:
            if voter.key.matches(self.local):
                ends.append(local_synced_end)
            else:
                replica = self.of_voter(voter.key)
                ends.append(-1 if replica is None or replica.end_offset is None else replica.end_offset)
        on_majority = sorted(ends, reverse=True)[voters.majority - 1]
        if on_majority <= self.epoch_start_offset or on_majority <= (self.high_watermark or 0):
            return None
        self.high_watermark = on_majority
        return on_majority

    def quorum_deadline_ms(self, voters: VoterSet, timeout_ms: int) -> int | None:
        """Until when it may lead without hearing from another voter; None: it is a majority by itself.

        Kafka restarts one timer whenever a majority has fetched since the last restart; counting from each voter's
        latest fetch finds out sooner.
        """
        needed = voters.majority - (1 if self.local in voters else 0)
        if needed == 0:
            return None
        heard = []
        for voter in voters.voters:
            if not voter.key.matches(self.local):
                replica = self.of_voter(voter.key)
                heard.append(self.since_ms if replica is None else max(replica.last_fetch_ms, self.since_ms))
        return sorted(heard, reverse=True)[needed - 1] + timeout_ms

    def successors(self, voters: VoterSet) -> tuple[ReplicaKey, ...]:
        """The other voters, those with the longest logs first."""
        others = [voter.key for voter in voters.voters if not voter.key.matches(self.local)]

        def end_offset(key: ReplicaKey) -> int:
            replica = self.of_voter(key)
            return -1 if replica is None or replica.end_offset is None else replica.end_offset

        return tuple(sorted(others, key=end_offset, reverse=True))
