"""The core of the share coordinator for one partition of __share_group_state: the states of its share-partitions.

    initialize   stores a snapshot: a new state epoch, a start offset (or none yet), nothing in flight
    read         by the share-partition's new leader; stores its leader epoch if that is new
    write        stores an update, the ranges of offsets that changed; now and then a whole snapshot instead
    delete       stores a tombstone

Two epochs fence. An older leader epoch comes from a broker that no longer leads the partition. An older state epoch
comes from before the group's offsets were altered or deleted.

Share-partitions without writes get a new snapshot from time to time as well (`COLD`), so that the log before it can be
deleted.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from barnabas.coordinator.core.decision import Decision, Now, Release
from barnabas.coordinator.core.ports import KeyValue
from barnabas.coordinator.core.timers import Timers
from barnabas.coordinator.share.settings import ShareCoordinatorSettings
from barnabas.coordinator.share.stored import (
    ShareStateRecord,
    Snapshot,
    SnapshotRecord,
    Update,
    UpdateRecord,
    decode_record,
    encode_record,
)
from barnabas.model import NO_EPOCH
from barnabas.model.share import (
    DELIVERY_COMPLETE_UNKNOWN,
    START_OFFSET_UNKNOWN,
    SharePartitionKey,
    StateBatch,
    StateRead,
    StateWrite,
    overlay,
    pruned,
)
from barnabas.wire.errors import FencedLeaderEpoch, FencedStateEpoch, InvalidRequest, UnknownTopicOrPartition

COLD: Final = ("cold",)


class StateSummary(NamedTuple):
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


NEVER_INITIALIZED: Final = StateSummary(0, 0, START_OFFSET_UNKNOWN, DELIVERY_COMPLETE_UNKNOWN)


@dataclass(slots=True)
class ShareState:
    """Changed only by `replay`."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    create_timestamp_ms: int
    write_timestamp_ms: int
    batches: list[StateBatch] = field(default_factory=list)
    """Sorted, disjoint, none before the start offset, neighbours differ."""
    updates: int = 0
    """The number of update records since the last snapshot."""

    def snapshot(self) -> Snapshot:
        return Snapshot(
            self.snapshot_epoch,
            self.state_epoch,
            self.leader_epoch,
            self.start_offset,
            self.delivery_complete_count,
            self.create_timestamp_ms,
            self.write_timestamp_ms,
            tuple(self.batches),
        )


class ShareShard:
    def __init__(self, settings: ShareCoordinatorSettings, has_partition: Callable[[SharePartitionKey], bool]) -> None:
        self.timers = Timers()
        self.states: dict[SharePartitionKey, ShareState] = {}
        self._settings = settings
        self._has_partition = has_partition

    # --- records

    def encode_all(self, records: Sequence[ShareStateRecord]) -> list[KeyValue]:
        return [encode_record(record) for record in records]

    def decode(self, key: bytes, value: bytes | None) -> ShareStateRecord | None:
        return decode_record(key, value)

    def replay(self, record: ShareStateRecord) -> None:
        known = self.states.get(record.key)
        if isinstance(record, UpdateRecord):
            self._replay_update(record.key, known, record.value)
            return
        if record.value is None:
            self.states.pop(record.key, None)
            return
        value = record.value
        updates = 0 if known is None or known.updates >= self._settings.updates_per_snapshot else known.updates
        self.states[record.key] = ShareState(*value[:-1], batches=list(value.batches), updates=updates)

    def _replay_update(self, key: SharePartitionKey, known: ShareState | None, value: Update) -> None:
        if known is None:
            # Its snapshot was deleted from the start of the log. That loses the state epoch, but none of the state.
            known = self.states[key] = ShareState(
                value.snapshot_epoch, 0, value.leader_epoch, value.start_offset, 0, 0, 0
            )
        if value.leader_epoch != NO_EPOCH:
            known.leader_epoch = max(value.leader_epoch, known.leader_epoch)
        if value.start_offset != START_OFFSET_UNKNOWN:
            known.start_offset = value.start_offset
            if known.batches and known.batches[0].first_offset < value.start_offset:
                known.batches = pruned(known.batches, value.start_offset)
        known.delivery_complete_count = value.delivery_complete_count
        overlay(known.batches, pruned(value.batches, known.start_offset))
        known.updates += 1

    # --- time

    def on_loaded(self, now: Now) -> Decision[None]:
        self._watch_for_cold(now)
        return Decision(None)

    def on_timer(self, key: Hashable, now: Now) -> Decision[None]:
        assert key == COLD
        self._watch_for_cold(now)
        records: list[ShareStateRecord] = []
        if any(state.create_timestamp_ms == state.write_timestamp_ms for state in self.states.values()):
            for share_key, state in self.states.items():
                if now.wall_ms - state.write_timestamp_ms >= self._settings.cold_snapshot_interval_ms:
                    snapshot = state.snapshot()
                    snapshot = snapshot._replace(
                        snapshot_epoch=state.snapshot_epoch + 1, write_timestamp_ms=now.wall_ms
                    )
                    records.append(SnapshotRecord(share_key, snapshot))
        return Decision(None, records=records, atomic=False)

    def _watch_for_cold(self, now: Now) -> None:
        self.timers.set(COLD, now.monotonic_ms + self._settings.cold_snapshot_interval_ms)

    def on_unloaded(self) -> list[Release]:
        return []

    # --- decisions

    def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int, now: Now) -> Decision[None]:
        if state_epoch < NO_EPOCH or start_offset < START_OFFSET_UNKNOWN:
            return Decision(
                InvalidRequest(f"state epoch {state_epoch} with start offset {start_offset} is not a valid state")
            )
        known = self.states.get(key)
        if known is not None and state_epoch != NO_EPOCH and known.state_epoch > state_epoch:
            return Decision(_fenced_state(known, state_epoch))
        if not self._has_partition(key):
            return Decision(_unknown(key))
        unread = start_offset == START_OFFSET_UNKNOWN
        snapshot = Snapshot(
            snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
            state_epoch=state_epoch,
            leader_epoch=0,
            start_offset=start_offset,
            delivery_complete_count=DELIVERY_COMPLETE_UNKNOWN if unread else 0,
            create_timestamp_ms=now.wall_ms,
            write_timestamp_ms=now.wall_ms,
            batches=(),
        )
        return Decision(None, records=[SnapshotRecord(key, snapshot)])

    def read(self, key: SharePartitionKey, *, leader_epoch: int, now: Now) -> Decision[StateRead]:
        known = self.states.get(key)
        if known is None:
            return Decision(InvalidRequest("Read operation on uninitialized share partition not allowed."))
        if leader_epoch != NO_EPOCH and known.leader_epoch > leader_epoch:
            return Decision(_fenced_leader(known, leader_epoch))
        if not self._has_partition(key):
            return Decision(_unknown(key))
        answer = StateRead(known.state_epoch, known.start_offset, tuple(known.batches))
        if leader_epoch in (NO_EPOCH, known.leader_epoch):
            return Decision(answer)
        taken_over = StateWrite(
            known.state_epoch, leader_epoch, known.start_offset, known.delivery_complete_count, batches=()
        )
        return Decision(answer, records=[self._record(key, known, taken_over, leader_epoch, now)])

    def write(self, key: SharePartitionKey, write: StateWrite, now: Now) -> Decision[None]:
        known = self.states.get(key)
        if known is None:
            return Decision(InvalidRequest("Write operation on uninitialized share partition not allowed."))
        if write.leader_epoch != NO_EPOCH and known.leader_epoch > write.leader_epoch:
            return Decision(_fenced_leader(known, write.leader_epoch))
        if write.state_epoch != NO_EPOCH and known.state_epoch > write.state_epoch:
            return Decision(_fenced_state(known, write.state_epoch))
        if not self._has_partition(key):
            return Decision(_unknown(key))
        if write.start_offset < START_OFFSET_UNKNOWN or write.delivery_complete_count < DELIVERY_COMPLETE_UNKNOWN:
            return Decision(
                InvalidRequest(
                    f"start offset {write.start_offset} with {write.delivery_complete_count} done is not a valid state"
                )
            )
        for batch in write.batches:
            if not batch.is_possible:
                return Decision(InvalidRequest(f"{batch} is not a valid state batch"))
        return Decision(None, records=[self._record(key, known, write, known.leader_epoch, now)])

    def delete(self, key: SharePartitionKey) -> Decision[None]:
        if not self._has_partition(key):
            return Decision(_unknown(key))
        return Decision(None, records=[SnapshotRecord(key, None)] if key in self.states else [])

    def summary(self, key: SharePartitionKey) -> StateSummary:
        if not self._has_partition(key):
            raise _unknown(key)
        known = self.states.get(key)
        if known is None:
            return NEVER_INITIALIZED
        return StateSummary(known.state_epoch, known.leader_epoch, known.start_offset, known.delivery_complete_count)

    def on_topics_deleted(self, topic_ids: Collection[object]) -> Decision[None]:
        gone = [SnapshotRecord(key, None) for key in self.states if key.topic_id in topic_ids]
        return Decision(None, records=list(gone), atomic=False)

    def _record(
        self, key: SharePartitionKey, known: ShareState, write: StateWrite, leader_epoch: int, now: Now
    ) -> ShareStateRecord:
        if known.updates < self._settings.updates_per_snapshot:
            news: list[StateBatch] = []
            overlay(news, pruned(write.batches, write.start_offset))
            return UpdateRecord(
                key,
                Update(
                    known.snapshot_epoch, leader_epoch, write.start_offset, write.delivery_complete_count, tuple(news)
                ),
            )
        unmoved = write.start_offset == START_OFFSET_UNKNOWN
        start_offset = known.start_offset if unmoved else write.start_offset
        batches = pruned(known.batches, start_offset)
        overlay(batches, pruned(write.batches, start_offset))
        snapshot = Snapshot(
            snapshot_epoch=known.snapshot_epoch + 1,
            state_epoch=known.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=write.delivery_complete_count,
            create_timestamp_ms=now.wall_ms,
            write_timestamp_ms=now.wall_ms,
            batches=tuple(batches),
        )
        return SnapshotRecord(key, snapshot)


def _fenced_leader(known: ShareState, leader_epoch: int) -> FencedLeaderEpoch:
    return FencedLeaderEpoch(f"leader epoch {leader_epoch} is older than {known.leader_epoch}")


def _fenced_state(known: ShareState, state_epoch: int) -> FencedStateEpoch:
    return FencedStateEpoch(f"state epoch {state_epoch} is older than {known.state_epoch}")


def _unknown(key: SharePartitionKey) -> UnknownTopicOrPartition:
    return UnknownTopicOrPartition(f"the cluster has no partition {key.partition} of topic id {key.topic_id}")
