"""The deadlines of a consumer group's members. In memory only: after loading, every deadline starts again.

    session     the member has sent no heartbeat
    rebalance   it must revoke partitions, and has not reported that it did
    join, sync  a classic member was told to join again, or has joined, and has not sent JoinGroup or SyncGroup

A member that misses a deadline is removed.
"""

from collections.abc import Iterable
from typing import Any, Final

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.consumer.member import ConsumerMember, MemberState
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import KafkaError

SESSION: Final = "consumer-session"
REBALANCE: Final = "consumer-rebalance"
JOIN: Final = "consumer-join"
SYNC: Final = "consumer-sync"
KINDS: Final = frozenset((SESSION, REBALANCE, JOIN, SYNC))


def keep_session(store: GroupStore, group_id: str, member: ConsumerMember, monotonic_ms: int) -> None:
    timeout_ms = (
        store.configs.consumer_session_timeout_ms(group_id)
        if member.classic is None
        else member.classic.session_timeout_ms
    )
    store.timers.set((SESSION, group_id, member.member_id), monotonic_ms + timeout_ms)


def watch_revocation(store: GroupStore, group_id: str, member: ConsumerMember, monotonic_ms: int) -> None:
    """Classic members have a join deadline instead."""
    if member.classic is not None:
        return
    key = (REBALANCE, group_id, member.member_id)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        store.timers.set(key, monotonic_ms + member.rebalance_timeout_ms)
    else:
        store.timers.cancel(key)


def expect_join(store: GroupStore, group_id: str, member: ConsumerMember, monotonic_ms: int) -> None:
    key = (JOIN, group_id, member.member_id)
    if store.timers.deadline_ms(key) is None:
        store.timers.set(key, monotonic_ms + member.rebalance_timeout_ms)


def forget(store: GroupStore, group_id: str, member_id: str) -> None:
    for kind in KINDS:
        store.timers.cancel((kind, group_id, member_id))


def watch_removal(store: GroupStore, group_id: str, members: Iterable[ConsumerMember], decision: Decision[Any]) -> None:
    """If the removal could not be stored, it is tried again after another session timeout."""

    def removed(_: Now) -> Decision[None]:
        group = store.modern.get(group_id)
        for member in members:
            if group is None or member.member_id not in group.members:
                forget(store, group_id, member.member_id)
        return Decision(None)

    def kept(_: KafkaError, failed: Now) -> Decision[None]:
        for member in members:
            keep_session(store, group_id, member, failed.monotonic_ms)
        return Decision(None)

    decision.on_committed, decision.on_failed = removed, kept


def on_loaded(store: GroupStore, group_id: str, member: ConsumerMember, monotonic_ms: int) -> None:
    keep_session(store, group_id, member, monotonic_ms)
    watch_revocation(store, group_id, member, monotonic_ms)
