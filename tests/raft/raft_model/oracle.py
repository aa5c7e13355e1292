"""What must hold whatever happens, checked with all that every replica does.

- One leader in each epoch.
- One vote of each voter in each epoch, also over crashes.
- Log matching: the same offset and epoch is the same record, after the same records.
- State machine safety: what one replica knows as committed, no other knows differently, and nobody loses.
- Leader completeness: a new leader has every record that was committed in an earlier epoch.
- A high watermark never goes back while a replica runs.
- A leader that serves reads knows every write that was acknowledged a while ago.
"""

from zlib import crc32

from barnabas.raft.core.log_view import LogBatch
from barnabas.raft.core.voters import ReplicaKey


class Broken(Exception):
    """An invariant does not hold."""


def chained(chain: int, batch: LogBatch) -> int:
    """The state of a replica is the chain over all records that it has applied."""
    return crc32(b"%d %d %b" % (batch.base_offset, batch.epoch, batch.data), chain)


class Oracle:
    def __init__(self) -> None:
        self._leaders: dict[int, ReplicaKey] = {}
        self._votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self._records: dict[tuple[int, int], tuple[bytes, int]] = {}
        self.committed: list[LogBatch] = []
        self._chains: dict[int, int] = {0: 0}
        self._commit_epochs: dict[int, int] = {}
        self.acknowledged: list[tuple[int, int]] = []
        """Time and end offset of each write that a client heard is committed."""
        self.elections = self.reads = self.truncations = self.snapshots = self.changes = 0

    @property
    def committed_end(self) -> int:
        return self.committed[-1].end_offset if self.committed else 0

    def on_leader(self, key: ReplicaKey, epoch: int) -> None:
        other = self._leaders.setdefault(epoch, key)
        if other != key:
            raise Broken(f"epoch {epoch} has two leaders: {other.id} and {key.id}")

    def on_complete_leader(self, key: ReplicaKey, epoch: int, start_offset: int, batches: tuple[LogBatch, ...]) -> None:
        self.elections += 1
        found = {batch.base_offset: batch.epoch for batch in batches}
        for batch in reversed(self.committed):
            if batch.base_offset < start_offset:
                break
            if self._commit_epochs[batch.base_offset] < epoch and found.get(batch.base_offset) != batch.epoch:
                raise Broken(
                    f"node {key.id} leads epoch {epoch} without committed offset {batch.base_offset} of {batch.epoch}"
                )

    def on_vote(self, voter: ReplicaKey, epoch: int, candidate: ReplicaKey) -> None:
        other = self._votes.setdefault((voter, epoch), candidate)
        if other != candidate:
            raise Broken(f"node {voter.id} voted for {other.id} and for {candidate.id} in epoch {epoch}")

    def on_record(self, batch: LogBatch, epoch_before: int | None) -> None:
        place = batch.base_offset, batch.epoch
        if epoch_before is None:
            return
        known = self._records.setdefault(place, (batch.data, epoch_before))
        if known != (batch.data, epoch_before):
            raise Broken(f"offset {batch.base_offset} of epoch {batch.epoch} is not the same everywhere")

    def on_applied(self, key: ReplicaKey, epoch: int, batch: LogBatch, chain: int) -> None:
        """`chain`: after the batch."""
        if batch.base_offset == self.committed_end:
            self.committed.append(batch)
            self._commit_epochs[batch.base_offset] = epoch
            self._chains[batch.end_offset] = chain
        self.check_state(key, batch.end_offset, chain)

    def check_state(self, key: ReplicaKey, end_offset: int, chain: int) -> None:
        if self._chains.get(end_offset) != chain:
            raise Broken(f"node {key.id} has applied records up to {end_offset} that are not those committed")

    def state_at(self, end_offset: int) -> int:
        return self._chains[end_offset]

    def on_high_watermark(self, key: ReplicaKey, before: int, after: int) -> None:
        if after < before:
            raise Broken(f"the high watermark of node {key.id} went back from {before} to {after}")

    def on_read(self, key: ReplicaKey, high_watermark: int, since_ms: int) -> None:
        """`since_ms`: every write acknowledged before is included."""
        self.reads += 1
        for time_ms, end_offset in reversed(self.acknowledged):
            if time_ms < since_ms:
                if high_watermark < end_offset:
                    raise Broken(f"node {key.id} answers a read at {high_watermark}, {end_offset} was acknowledged")
                break
