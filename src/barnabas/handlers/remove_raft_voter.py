"""RemoveRaftVoter (0): the last voter can't be removed; the answer is VOTER_NOT_FOUND, as in Kafka."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.raft_voters import check_cluster_id, described, described_set
from barnabas.handlers.services import Cluster
from barnabas.raft.node import RaftNode
from barnabas.wire.errors import InvalidRequest, VoterNotFound
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse


def handle(
    cluster: Cluster, quorum: RaftNode, context: RequestContext, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    check_cluster_id(cluster, request.cluster_id)
    if request.voter_id < 0 or request.voter_directory_id is None:
        raise InvalidRequest("Remove voter request didn't include a valid voter")
    voters = [voter.key for voter in quorum.voters.voters]
    raise VoterNotFound(
        f"Cannot remove voter {described(request.voter_id, request.voter_directory_id)} from the set of voters"
        f" {described_set(voters)}"
    )
