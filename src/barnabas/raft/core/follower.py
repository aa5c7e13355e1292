"""A replica that fetches from a leader, and appends what it gets.

It fetches from where its disk ends, and only once everything before that is synced: the offset is also how the leader
learns what it has on disk.
"""

from msgspec import Struct

from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.voters import Endpoints


class Download(Struct):
    """A snapshot that is being fetched because the leader's log begins after ours ends."""

    snapshot_id: SnapshotId
    position: int = 0
    is_complete: bool = False
    """All bytes were written; they are being synced and verified, and count for nothing before."""


class Follower(Struct):
    leader_endpoints: Endpoints
    fetch_deadline_ms: int
    """A voter asks for pre-votes then."""
    update_voter_ms: int
    """When it checks whether the leader knows where this voter listens."""
    has_fetched: bool = False
    """In this epoch: the leader is there, so nobody else gets a pre-vote."""
    is_leader_suspected: bool = False
    """The leader refuses connections, or has resigned: others get pre-votes."""
    campaign_ms: int | None = None
    """Ask for pre-votes then, though the fetch deadline has not come."""
    has_updated_voter: bool = False
    download: Download | None = None

    def on_fetched(self, deadline_ms: int) -> None:
        self.fetch_deadline_ms = deadline_ms
        self.has_fetched = True
        self.is_leader_suspected = False
        self.campaign_ms = None
