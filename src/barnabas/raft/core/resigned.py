"""A replica that led its epoch and does not lead it any more, nor ever again.

After a restart, records that it appended but did not sync may be lost. New records must not get the same offsets in the
same epoch: offset and epoch identify a record for good. One that resigned while running tells the other voters so, with
EndQuorumEpoch, until each of them has answered or the time to campaign has come.
"""

from msgspec import Struct, field

from barnabas.raft.core.voters import ReplicaKey


class Resigned(Struct):
    election_deadline_ms: int
    preferred_successors: tuple[ReplicaKey, ...] = ()
    unacknowledged_ids: set[int] = field(default_factory=set)
