"""Changes of the voters, on the leader: one replica at a time, and the next only when the last one is committed.

A new leader waits for its first commit, too: until then a change of the leader before it may be in its log or not.
"""

from barnabas.raft.core.control_records import quorum_records, voters_record
from barnabas.raft.core.errors import not_its_leader, wrong_cluster
from barnabas.raft.core.leader import Leader, PendingChange
from barnabas.raft.core.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ChangeResponse,
    Error,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpgradeKRaftVersionRequest,
)
from barnabas.raft.core.quorum import Quorum
from barnabas.raft.core.ready import Peer, Send
from barnabas.raft.core.settings import CAUGHT_UP_MS_MAX
from barnabas.raft.core.voters import NO_DIRECTORY, ReplicaKey, Voter, VoterSet
from barnabas.wire.errors import (
    DuplicateVoter,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    RequestTimedOut,
    UnsupportedVersion,
    VoterNotFound,
)

ChangeRequest = AddVoterRequest | RemoveVoterRequest | UpdateVoterRequest | UpgradeKRaftVersionRequest


class VoterChanges:
    def __init__(self, quorum: Quorum) -> None:
        self._quorum = quorum

    def on_request(self, request_id: object, request: ChangeRequest, now_ms: int) -> None:
        refusal = self._early_error(request)
        if refusal is not None:
            self._refuse(request_id, refusal())
            return
        leader = self._quorum.role
        assert isinstance(leader, Leader)
        try:
            if isinstance(request, UpdateVoterRequest) and self._quorum.history.kraft_version == 0:
                self._report(leader, request.voter)
                self._quorum.answer(request_id, ChangeResponse(self._quorum.current()))
                return
            self.check_no_change_is_pending(leader)
            self._begin(request_id, request, leader, now_ms)
        except KafkaError as error:
            self._refuse(request_id, error)

    def _early_error(self, request: ChangeRequest) -> Error:
        quorum = self._quorum
        if isinstance(request, UpgradeKRaftVersionRequest):
            return not_its_leader(quorum, quorum.epoch)
        epoch = request.epoch if isinstance(request, UpdateVoterRequest) else quorum.epoch
        if error := wrong_cluster(quorum, request.cluster_id) or not_its_leader(quorum, epoch):
            return error
        key = request.voter if isinstance(request, RemoveVoterRequest) else request.voter.key
        if key.id < 0 or key.directory_id == NO_DIRECTORY:
            return InvalidRequest
        if not isinstance(request, RemoveVoterRequest):
            names = {endpoint.name for endpoint in request.voter.endpoints}
            if quorum.local.voter.endpoints and quorum.local.voter.endpoints[0].name not in names:
                return InvalidRequest
        return None

    def check_no_change_is_pending(self, leader: Leader) -> None:
        if leader.change is not None:
            raise RequestTimedOut("the leader is still busy with another change of the voters; try again")
        if leader.high_watermark is None:
            raise RequestTimedOut("the leader has not committed a record yet, and does not know all voters; try again")
        if self._quorum.history.voters_offset >= leader.high_watermark:
            raise RequestTimedOut("the last change of the voters is not committed yet; try again")

    def _begin(self, request_id: object, request: ChangeRequest, leader: Leader, now_ms: int) -> None:
        quorum = self._quorum
        if isinstance(request, UpgradeKRaftVersionRequest):
            self._upgrade(request_id, request, leader, now_ms)
            return
        if quorum.history.kraft_version == 0:
            raise UnsupportedVersion(
                "the voters are in the configuration; upgrade the feature kraft.version to 1 first"
            )
        if isinstance(request, AddVoterRequest):
            self._add(request_id, request, leader, now_ms)
        elif isinstance(request, RemoveVoterRequest):
            self._remove(request_id, request, leader, now_ms)
        else:
            self._update(request.voter)
            quorum.answer(request_id, ChangeResponse(quorum.current()))

    def _pend(
        self,
        leader: Leader,
        request_id: object,
        request: AddVoterRequest | RemoveVoterRequest | UpgradeKRaftVersionRequest,
        now_ms: int,
    ) -> PendingChange:
        leader.change = PendingChange(request_id, request, now_ms + self._quorum.settings.request_timeout_ms)
        return leader.change

    # Adding: ask the new voter for its versions, see whether it has caught up, append

    def _add(self, request_id: object, request: AddVoterRequest, leader: Leader, now_ms: int) -> None:
        quorum, voter = self._quorum, request.voter
        if voter.key.id in quorum.voters.ids:
            raise DuplicateVoter(f"node {voter.key.id} is a voter already: {quorum.voters.ids}")
        if not quorum.requests.is_ready(voter.key.id, now_ms):
            raise RequestTimedOut(f"node {voter.key.id} is not ready to receive requests; try again")
        change = self._pend(leader, request_id, request, now_ms)
        change.versions_request_id = quorum.send(Peer(voter.key.id, voter.endpoints), ApiVersionsRequest(), now_ms)

    def on_versions(self, send: Send, response: ApiVersionsResponse, now_ms: int) -> None:
        leader = self._quorum.role
        if not isinstance(leader, Leader) or leader.change is None:
            return
        change, request = leader.change, leader.change.request
        if change.versions_request_id != send.request_id or not isinstance(request, AddVoterRequest):
            return
        change.versions_request_id = None
        try:
            self._append_added(change, request, leader, response, now_ms)
        except KafkaError as error:
            leader.change = None
            self._refuse(change.request_id, error)

    def _append_added(
        self,
        change: PendingChange,
        request: AddVoterRequest,
        leader: Leader,
        response: ApiVersionsResponse,
        now_ms: int,
    ) -> None:
        quorum, key = self._quorum, request.voter.key
        if response.error is not None:
            raise RequestTimedOut(f"node {key.id} did not say which versions it supports")
        version, versions = quorum.history.kraft_version, response.kraft_versions
        if versions is None or version not in versions:
            raise InvalidRequest(f"node {key.id} does not support kraft.version {version}")
        caught_up_ms = leader.replica(key).last_caught_up_ms
        if caught_up_ms < 0 or now_ms - caught_up_ms > CAUGHT_UP_MS_MAX:
            raise RequestTimedOut(f"node {key.id} is lagging behind; try again when it has all of the metadata log")
        added = request.voter._replace(kraft_versions=versions)
        change.offset = quorum.append((voters_record(quorum.voters.with_voter(added)),))
        if not request.ack_when_committed:
            quorum.answer(change.request_id, ChangeResponse(quorum.current()))

    def on_no_versions(self, send: Send) -> None:
        leader = self._quorum.role
        if isinstance(leader, Leader) and leader.change is not None:
            change = leader.change
            if change.versions_request_id == send.request_id:
                leader.change = None
                self._refuse(change.request_id, RequestTimedOut(f"node {send.to.id} cannot be reached"))

    # The others

    def _remove(self, request_id: object, request: RemoveVoterRequest, leader: Leader, now_ms: int) -> None:
        voters = self._quorum.voters
        remaining = voters.without(request.voter)
        if remaining == voters or not remaining.voters:
            raise VoterNotFound(f"node {request.voter.id} with this directory is not a voter that can be removed")
        change = self._pend(leader, request_id, request, now_ms)
        change.offset = self._quorum.append((voters_record(remaining),))

    def _update(self, voter: Voter) -> None:
        quorum = self._quorum
        self._check_known(voter.key)
        if quorum.history.kraft_version not in voter.kraft_versions:
            raise InvalidRequest(f"node {voter.key.id} does not support kraft.version {quorum.history.kraft_version}")
        quorum.append((voters_record(quorum.voters.with_voter(voter)),))

    def _check_known(self, key: ReplicaKey) -> None:
        if key not in self._quorum.voters:
            raise VoterNotFound(f"node {key.id} with this directory is not a voter")

    def _report(self, leader: Leader, voter: Voter) -> None:
        self._check_known(voter.key)
        leader.reported[voter.key.id] = voter

    def _upgrade(self, request_id: object, request: UpgradeKRaftVersionRequest, leader: Leader, now_ms: int) -> None:
        quorum = self._quorum
        if request.version == quorum.history.kraft_version:
            quorum.answer(request_id, ChangeResponse(quorum.current()))
            return
        if (quorum.history.kraft_version, request.version) != (0, 1):
            raise InvalidUpdateVersion(f"kraft.version cannot become {request.version}: only 0 can be upgraded, to 1")
        known = {**leader.reported, quorum.local.key.id: quorum.local.voter}
        missing = [voter_id for voter_id in quorum.voters.ids if voter_id not in known]
        if missing:
            raise InvalidUpdateVersion(f"the voters {missing} have not said which directory they use; try again later")
        voters = VoterSet(tuple(known[voter_id] for voter_id in quorum.voters.ids))
        old = [voter.key.id for voter in voters.voters if request.version not in voter.kraft_versions]
        if old:
            raise InvalidUpdateVersion(f"the voters {old} do not support kraft.version {request.version}")
        change = self._pend(leader, request_id, request, now_ms)
        change.offset = quorum.append(quorum_records(voters, request.version))

    # The end of a change

    def on_committed(self, leader: Leader, high_watermark: int) -> None:
        change = leader.change
        if change is not None and change.offset is not None and change.offset < high_watermark:
            leader.change = None
            if not isinstance(change.request, AddVoterRequest) or change.request.ack_when_committed:
                self._quorum.answer(change.request_id, ChangeResponse(self._quorum.current()))
        # Also if an earlier leader has appended that, or if nobody waits for it any more.
        if not self._quorum.is_voter and self._quorum.history.voters_offset < high_watermark:
            leader.resign_requested = True

    def expire(self, leader: Leader, now_ms: int) -> None:
        change = leader.change
        if change is not None and now_ms >= change.deadline_ms:
            leader.change = None
            waits = not isinstance(change.request, AddVoterRequest) or change.request.ack_when_committed
            if waits or change.offset is None:
                self._refuse(change.request_id, RequestTimedOut("the change of the voters is not committed yet"))

    def _refuse(self, request_id: object, error: KafkaError) -> None:
        self._quorum.answer(request_id, ChangeResponse(self._quorum.current(), type(error), str(error)))
