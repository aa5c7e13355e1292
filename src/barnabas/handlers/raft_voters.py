"""What AddRaftVoter and RemoveRaftVoter share: the check of the cluster id, and how voters are written in errors."""

import base64
import uuid
from collections.abc import Iterable

from barnabas.handlers.services import Cluster
from barnabas.raft.core.voters import ReplicaKey
from barnabas.wire.errors import InconsistentClusterId


def check_cluster_id(cluster: Cluster, cluster_id: str | None) -> None:
    if cluster_id is not None and cluster_id != cluster.cluster_id:
        raise InconsistentClusterId(f'The given id "{cluster_id}" doesn\'t match the cluster id "{cluster.cluster_id}"')


def described(voter_id: int, directory_id: uuid.UUID | None) -> str:
    """A replica and its directory, as Kafka prints them."""
    directory = base64.urlsafe_b64encode((directory_id or uuid.UUID(int=0)).bytes).decode().rstrip("=")
    return f"ReplicaKey(id={voter_id}, directoryId={directory})"


def described_set(voters: Iterable[ReplicaKey]) -> str:
    return f"[{', '.join(described(*voter) for voter in voters)}]"
