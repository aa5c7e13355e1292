"""The core of the group coordinator for one partition, driven by the runtime: records, timers, loading, unloading."""

from collections.abc import Hashable, Sequence
from typing import Any

from barnabas.coordinator.decision import Decision, InTransaction, Now, Release, TransactionEnd
from barnabas.coordinator.group.classic_group import JOIN, SYNC, ClassicGroup
from barnabas.coordinator.group.consumer import sessions
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.leave import on_deadline
from barnabas.coordinator.group.consumer.replay import CONSUMER_REPLAYS
from barnabas.coordinator.group.expiry import EXPIRY_KEY, decide_expiry, schedule_expiry
from barnabas.coordinator.group.leave import on_session_timer
from barnabas.coordinator.group.member import SESSION
from barnabas.coordinator.group.rebalance import on_join_timer, on_sync_timer, prepare_rebalance
from barnabas.coordinator.group.share import heartbeat as share_heartbeat
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.replay import SHARE_REPLAYS
from barnabas.coordinator.group.store import GroupStore
from barnabas.coordinator.group.stored import (
    GroupCoordinatorRecord,
    GroupRecord,
    OffsetRecord,
    TopicOffsets,
    decode_record,
    encode_records,
)
from barnabas.coordinator.ports import KeyValue
from barnabas.wire.errors import NotCoordinator

_REPLAYS = {**CONSUMER_REPLAYS, **SHARE_REPLAYS}


class GroupShard(GroupStore):
    def encode_all(self, records: Sequence[GroupCoordinatorRecord]) -> list[KeyValue]:
        return encode_records(records)

    def decode(self, key: bytes, value: bytes | None) -> GroupCoordinatorRecord | None:
        return decode_record(key, value)

    def replay(self, record: GroupCoordinatorRecord | InTransaction | TransactionEnd) -> None:
        if isinstance(record, TopicOffsets):
            self.replay_offsets(record)
        elif isinstance(record, OffsetRecord):
            self.replay_offset(record)
        elif isinstance(record, InTransaction):
            if isinstance(record.record, OffsetRecord):  # nothing else is written in transactions
                self.replay_pending_offset(record.producer_id, record.record)
        elif isinstance(record, TransactionEnd):
            self.replay_transaction_end(record.producer_id, commit=record.commit)
        elif isinstance(record, GroupRecord):
            self.replay_group(record)
        else:
            _REPLAYS[type(record.key)](self, record.key, record.value)

    def on_loaded(self, now: Now) -> Decision[None]:
        """Rebuild the classic groups in memory. Their members have a whole session timeout to send a heartbeat."""
        decision: Decision[None] = Decision(None)
        for group_id, stored in self.stored_groups.items():
            group = self.groups[group_id] = ClassicGroup.from_stored(group_id, stored)
            for member in group.members.values():
                self.keep_session(member, now.monotonic_ms)
            if len(group.members) > self.settings.group_size_max:
                prepare_rebalance(self, group, now, decision)
        for modern in self.modern.values():
            if isinstance(modern, ConsumerGroup):
                for each in modern.members.values():
                    sessions.on_loaded(self, modern.group_id, each, now.monotonic_ms)
            elif isinstance(modern, ShareGroup):
                for sharing in modern.members.values():
                    share_heartbeat.keep_session(self, modern.group_id, sharing, now)
        schedule_expiry(self, now)
        return decision

    def on_timer(self, key: Hashable, now: Now) -> Decision[None]:
        if key == EXPIRY_KEY:
            return decide_expiry(self, now)
        decision: Decision[None] = Decision(None)
        assert isinstance(key, tuple)
        kind, group_id, *member_id = key
        if kind in sessions.KINDS:
            return on_deadline(self, kind, group_id, member_id[0], now)
        if kind == share_heartbeat.SESSION:
            return share_heartbeat.on_session_timeout(self, group_id, member_id[0])
        group = self.groups.get(group_id)
        if group is None:
            return decision
        if kind == SESSION:
            on_session_timer(self, group, member_id[0], now, decision)
        elif kind == JOIN:
            on_join_timer(self, group, now, decision)
        elif kind == SYNC:
            on_sync_timer(self, group, now, decision)
        return decision

    def on_unloaded(self) -> list[Release]:
        decision: Decision[Any] = Decision(None)
        moved = NotCoordinator("the group's coordinator has moved; find it again")
        for group in list(self.groups.values()):
            self.discard(group, moved, group.state_timestamp_ms, decision)
        return decision.releases
