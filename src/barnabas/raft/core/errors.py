"""Why a request is refused, before anything is done with it."""

from barnabas.raft.core.leader import Leader
from barnabas.raft.core.messages import Error
from barnabas.raft.core.quorum import Quorum
from barnabas.wire.errors import FencedLeaderEpoch, InconsistentClusterId, NotLeaderOrFollower, UnknownLeaderEpoch


def wrong_cluster(quorum: Quorum, cluster_id: str | None) -> Error:
    return None if cluster_id in (None, quorum.local.cluster_id) else InconsistentClusterId


def not_its_leader(quorum: Quorum, epoch: int) -> Error:
    """Of a request that only the leader of this epoch may answer."""
    if epoch < quorum.epoch:
        return FencedLeaderEpoch
    if epoch > quorum.epoch:
        return UnknownLeaderEpoch
    return None if isinstance(quorum.role, Leader) else NotLeaderOrFollower
