"""The follower's side of replication: it fetches, appends what it gets, and truncates what its leader does not have."""

from barnabas.raft.core.follower import Download, Follower
from barnabas.raft.core.log_view import LogBatch, LogPosition, end_of
from barnabas.raft.core.messages import (
    ChangeResponse,
    CurrentLeader,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    UpdateVoterRequest,
)
from barnabas.raft.core.observer import Observer
from barnabas.raft.core.quorum import Quorum
from barnabas.raft.core.ready import Peer, Send, SnapshotChunk
from barnabas.raft.core.settings import MAX_FETCH_WAIT_MS, UNREACHABLE_JITTER_MS, UPDATE_VOTER_FACTOR
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.unattached import Unattached
from barnabas.raft.core.voters import VoterSet
from barnabas.wire.errors import KafkaStorageError, SnapshotNotFound


class Following:
    def __init__(self, quorum: Quorum) -> None:
        self._quorum = quorum

    # Responses of the leader

    def on_fetch_response(self, send: Send, response: FetchResponse, now_ms: int) -> None:
        quorum, role = self._quorum, self._quorum.role
        if not self._is_from_leader(send) or not isinstance(role, Follower):
            return
        if response.error is not None:
            quorum.requests.back_off(send.to.id, now_ms)
            return
        if response.diverging is not None:
            self._truncate(response.diverging, now_ms)
        elif response.snapshot_id is not None:
            role.download = Download(response.snapshot_id)
        elif self._append(response.batches, now_ms):
            if response.high_watermark is not None:
                end_offset = response.batches[-1].end_offset if response.batches else quorum.log.end_offset
                quorum.advance_high_watermark(min(response.high_watermark, end_offset))
        else:
            quorum.requests.back_off(send.to.id, now_ms)
            return
        self._heard(now_ms)

    def _is_from_leader(self, send: Send) -> bool:
        """A bootstrap server that turns out to be the leader is asked again as such."""
        return isinstance(self._quorum.role, Follower) and send.to.id == self._quorum.leader_id

    def _heard(self, now_ms: int) -> None:
        role = self._quorum.role
        assert isinstance(role, Follower)
        role.on_fetched(now_ms + self._quorum.settings.fetch_timeout_ms)
        if isinstance(role, Observer):
            role.is_searching = False
        self._quorum.on_leader_heard()

    def _append(self, batches: tuple[LogBatch, ...], now_ms: int) -> bool:
        """False if they are not what follows our log."""
        quorum = self._quorum
        end = end_of(quorum.log)
        for batch in batches:
            if batch.base_offset != end.end_offset or not end.epoch <= batch.epoch <= quorum.epoch:
                return False
            end = LogPosition(batch.epoch, batch.end_offset)
        for batch in batches:
            quorum.history.add(batch)
        quorum.outbox.write += batches
        quorum.settle_membership(now_ms)
        return True

    def _truncate(self, diverging: LogPosition, now_ms: int) -> None:
        """Back to where our log agrees with the leader's, or may agree: the next fetch will tell."""
        quorum, log = self._quorum, self._quorum.log
        ours = log.epoch_end(diverging.epoch) or LogPosition(0, log.start_offset)
        offset = ours.end_offset
        if ours.epoch == diverging.epoch:
            offset = min(offset, diverging.end_offset)
        if offset < max(quorum.high_watermark or 0, log.start_offset):
            raise KafkaStorageError(
                f"the leader {quorum.leader_id} of epoch {quorum.epoch} asks to truncate the metadata log to offset "
                f"{offset}, but records up to {quorum.high_watermark} were committed: one of the voters lost its data. "
                "Do not remove the log of this node: it may be the only one with these records"
            )
        quorum.outbox.truncate_to = offset
        quorum.synced_end = min(quorum.synced_end, offset)
        quorum.history.truncate(offset)
        quorum.settle_membership(now_ms)

    # Snapshots

    def on_snapshot_response(self, send: Send, response: FetchSnapshotResponse, now_ms: int) -> None:
        quorum, role = self._quorum, self._quorum.role
        if not self._is_from_leader(send) or not isinstance(role, Follower) or role.download is None:
            return
        download = role.download
        if response.error is SnapshotNotFound or (response.error is None and response.snapshot_id is None):
            role.download = None  # the leader has a newer one: fetch again, and hear which
            self._heard(now_ms)
            return
        is_next = (response.snapshot_id, response.position) == (download.snapshot_id, download.position)
        if response.error is not None or not is_next or not response.data:
            quorum.requests.back_off(send.to.id, now_ms)
            return
        quorum.outbox.chunk = SnapshotChunk(download.snapshot_id, download.position, response.data)
        download.position += len(response.data)
        if download.position >= response.size:
            download.is_complete = True
            quorum.outbox.verify = download.snapshot_id
        self._heard(now_ms)

    def on_snapshot_verified(self, snapshot_id: SnapshotId, voters: VoterSet, kraft_version: int, now_ms: int) -> None:
        """The file is on disk and whole: it replaces the log, unless we follow somebody else by now."""
        quorum, role = self._quorum, self._quorum.role
        if not isinstance(role, Follower) or role.download is None or role.download.snapshot_id != snapshot_id:
            return
        role.download = None
        quorum.outbox.restart_log_at = snapshot_id
        quorum.synced_end = snapshot_id.end_offset
        quorum.history.restart(voters, kraft_version, snapshot_id.end_offset - 1)
        quorum.advance_high_watermark(snapshot_id.end_offset)
        quorum.settle_membership(now_ms)

    def on_snapshot_damaged(self, snapshot_id: SnapshotId, now_ms: int) -> None:
        role = self._quorum.role
        if isinstance(role, Follower) and role.download is not None and role.download.snapshot_id == snapshot_id:
            role.download = None
            self._quorum.requests.back_off(self._quorum.leader_id, now_ms)

    def on_update_response(self, send: Send, response: ChangeResponse) -> None:
        role = self._quorum.role
        if isinstance(role, Follower) and self._is_from_leader(send) and response.error is None:
            role.has_updated_voter = True

    # Time

    def on_leader_unreachable(self, now_ms: int) -> None:
        """It refuses connections: its process is dead, and waiting for the fetch timeout would help nobody."""
        role = self._quorum.role
        if isinstance(role, Observer):
            role.is_searching = True
        elif isinstance(role, Follower):
            role.is_leader_suspected = True
            if role.campaign_ms is None:
                role.campaign_ms = now_ms + self._quorum.random_below(UNREACHABLE_JITTER_MS)

    def on_no_response(self) -> None:
        role = self._quorum.role
        if isinstance(role, Observer):
            role.is_searching = True

    def on_leader_named(self, role: Observer, current: CurrentLeader, now_ms: int) -> None:
        """Somebody says that our leader still leads: try it again."""
        if current.leader_id == self._quorum.leader_id and role.is_searching:
            role.is_searching = False
            role.fetch_deadline_ms = now_ms + self._quorum.settings.fetch_timeout_ms

    def poll(self, role: Follower, now_ms: int) -> int:
        quorum = self._quorum
        if isinstance(role, Observer):
            role.is_searching = role.is_searching or now_ms >= role.fetch_deadline_ms
            if role.is_searching:
                return self.find_leader(now_ms)
        elif not quorum.is_stopping:
            if now_ms >= role.fetch_deadline_ms:
                quorum.become_prospective(now_ms)
                return now_ms
            if role.campaign_ms is not None and now_ms >= role.campaign_ms:
                quorum.become_prospective(now_ms, quorum.quick_timeout_ms())
                return now_ms
        next_ms = role.fetch_deadline_ms if role.campaign_ms is None else role.campaign_ms
        leader = Peer(quorum.leader_id, role.leader_endpoints)
        if quorum.requests.is_ready(leader.id, now_ms):
            request = self._next_request(role, now_ms)
            if request is not None:
                quorum.send(leader, request, now_ms)
        return min(next_ms, max(quorum.requests.next_ms(leader.id), now_ms + quorum.settings.retry_backoff_ms))

    def find_leader(self, now_ms: int) -> int:
        """Of a replica that is no voter and has no leader to fetch from: ask the next of the others for it."""
        quorum, role = self._quorum, self._quorum.role
        assert isinstance(role, Unattached | Observer)
        next_ms = now_ms + quorum.settings.retry_backoff_ms
        under_way_until_ms = quorum.requests.under_way_until(now_ms)
        if under_way_until_ms is not None:
            return under_way_until_ms
        request = self._fetch(max_wait_ms=0)
        if request is None:
            return next_ms
        peer = quorum.search.next_peer(quorum.peers())
        if isinstance(role, Observer) and peer is not None and peer.id == quorum.leader_id:
            peer = Peer(peer.id, role.leader_endpoints)
        if peer is not None and quorum.requests.is_ready(peer.id, now_ms):
            quorum.send(peer, request, now_ms)
        return next_ms

    def _next_request(
        self, role: Follower, now_ms: int
    ) -> FetchRequest | FetchSnapshotRequest | UpdateVoterRequest | None:
        quorum = self._quorum
        if now_ms >= role.update_voter_ms and not isinstance(role, Observer):
            role.update_voter_ms = now_ms + UPDATE_VOTER_FACTOR * quorum.settings.fetch_timeout_ms
            # With kraft.version 0 nothing is recorded, but each leader has to know us before an upgrade.
            if quorum.needs_voter_update if quorum.history.kraft_version else not role.has_updated_voter:
                return UpdateVoterRequest(quorum.epoch, quorum.local.voter, quorum.local.cluster_id)
        download = role.download
        if download is None:
            return self._fetch(max_wait_ms=MAX_FETCH_WAIT_MS)
        if download.is_complete:
            return None
        local, cluster_id = quorum.local.key, quorum.local.cluster_id
        return FetchSnapshotRequest(local, quorum.epoch, download.snapshot_id, download.position, cluster_id)

    def _fetch(self, *, max_wait_ms: int) -> FetchRequest | None:
        """None while something is not synced: the offset would promise it."""
        quorum = self._quorum
        if quorum.is_log_changing or not quorum.is_synced:
            return None
        return FetchRequest(
            replica=quorum.local.key,
            epoch=quorum.epoch,
            position=end_of(quorum.log),
            high_watermark=quorum.high_watermark or 0,
            max_wait_ms=max_wait_ms,
            cluster_id=quorum.local.cluster_id,
        )
