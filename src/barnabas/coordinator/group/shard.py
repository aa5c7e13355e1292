"""The core of the group coordinator for one partition, driven by the runtime: records, timers, loading, unloading."""

from collections.abc import Hashable, Sequence
from typing import Any

from barnabas.coordinator.core.decision import Decision, InTransaction, Now, Release, TransactionEnd
from barnabas.coordinator.core.ports import KeyValue
from barnabas.coordinator.group.classic.group import JOIN, SYNC, ClassicGroup
from barnabas.coordinator.group.classic.leave import on_session_timer
from barnabas.coordinator.group.classic.member import SESSION
from barnabas.coordinator.group.classic.rebalance import on_join_timer, on_sync_timer, prepare_rebalance
from barnabas.coordinator.group.classic.replay import CLASSIC_REPLAYS
from barnabas.coordinator.group.classic.sessions import discard, keep_session
from barnabas.coordinator.group.consumer import sessions as consumer_sessions
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.leave import on_deadline
from barnabas.coordinator.group.consumer.replay import CONSUMER_REPLAYS
from barnabas.coordinator.group.offsets.expiry import EXPIRY_KEY, decide_expiry, schedule_expiry
from barnabas.coordinator.group.offsets.replay import (
    replay_offset,
    replay_offsets,
    replay_pending_offset,
    replay_transaction_end,
)
from barnabas.coordinator.group.offsets.stored import OffsetRecord, TopicOffsets
from barnabas.coordinator.group.share import sessions as share_sessions
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.leave import on_session_timeout
from barnabas.coordinator.group.share.replay import SHARE_REPLAYS
from barnabas.coordinator.group.store import GroupStore
from barnabas.coordinator.group.stored import GroupCoordinatorRecord, decode_record, encode_records
from barnabas.wire.errors import NotCoordinator

_REPLAYS = {**CLASSIC_REPLAYS, **CONSUMER_REPLAYS, **SHARE_REPLAYS}


class GroupShard(GroupStore):
    def encode_all(self, records: Sequence[GroupCoordinatorRecord]) -> list[KeyValue]:
        return encode_records(records)

    def decode(self, key: bytes, value: bytes | None) -> GroupCoordinatorRecord | None:
        return decode_record(key, value)

    def replay(self, record: GroupCoordinatorRecord | InTransaction | TransactionEnd) -> None:
        if isinstance(record, TopicOffsets):
            replay_offsets(self, record)
        elif isinstance(record, OffsetRecord):
            replay_offset(self, record)
        elif isinstance(record, InTransaction):
            if isinstance(record.record, OffsetRecord):  # nothing else is written in transactions
                replay_pending_offset(self, record.producer_id, record.record)
        elif isinstance(record, TransactionEnd):
            replay_transaction_end(self, record.producer_id, commit=record.commit)
        else:
            _REPLAYS[type(record.key)](self, record.key, record.value)

    def on_loaded(self, now: Now) -> Decision[None]:
        """Rebuild the classic groups in memory. Their members have a whole session timeout to send a heartbeat."""
        decision: Decision[None] = Decision(None)
        for group_id, stored in self.stored_groups.items():
            group = self.groups[group_id] = ClassicGroup.from_stored(group_id, stored)
            for member in group.members.values():
                keep_session(self, member, now.monotonic_ms)
            if len(group.members) > self.settings.group_size_max:
                prepare_rebalance(self, group, now, decision)
        for modern in self.modern.values():
            if isinstance(modern, ConsumerGroup):
                for each in modern.members.values():
                    consumer_sessions.on_loaded(self, modern.group_id, each, now.monotonic_ms)
            elif isinstance(modern, ShareGroup):
                for sharing in modern.members.values():
                    share_sessions.keep_session(self, modern.group_id, sharing, now)
        schedule_expiry(self, now)
        return decision

    def on_timer(self, key: Hashable, now: Now) -> Decision[None]:
        if key == EXPIRY_KEY:
            return decide_expiry(self, now)
        decision: Decision[None] = Decision(None)
        assert isinstance(key, tuple)
        kind, group_id, *member_id = key
        if kind in consumer_sessions.KINDS:
            return on_deadline(self, kind, group_id, member_id[0], now)
        if kind == share_sessions.SESSION:
            return on_session_timeout(self, group_id, member_id[0])
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
            discard(self, group, moved, group.state_timestamp_ms, decision)
        return decision.releases
