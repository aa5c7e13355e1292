"""AddRaftVoter (0-1): Kafka's checks, then UNSUPPORTED_VERSION: this node is a quorum of one and no voter can join.

Kafka asks the new voter for its versions, and answers REQUEST_TIMED_OUT when the voter does not respond.
"""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.raft_voters import check_cluster_id, described, described_set
from barnabas.handlers.services import Cluster
from barnabas.raft.node import RaftNode
from barnabas.wire.errors import DuplicateVoter, InvalidRequest, UnsupportedVersion
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse


def handle(
    cluster: Cluster, quorum: RaftNode, context: RequestContext, request: AddRaftVoterRequest
) -> AddRaftVoterResponse:
    check_cluster_id(cluster, request.cluster_id)
    voters = quorum.voters
    name = voters.voters[0].endpoints[0].name
    if request.voter_id < 0 or request.voter_directory_id is None:
        raise InvalidRequest("Add voter request didn't include a valid voter")
    if all(listener.name != name for listener in request.listeners):
        raise InvalidRequest(
            f"Add voter request didn't include the endpoint for the default listener ListenerName({name})"
        )
    if request.voter_id in voters.ids:
        raise DuplicateVoter(
            f"The voter id for {described(request.voter_id, request.voter_directory_id)} is already part of the set of"
            f" voters {described_set(voter.key for voter in voters.voters)}."
        )
    raise UnsupportedVersion("This node is a quorum of one: it has no listener for other voters.")
