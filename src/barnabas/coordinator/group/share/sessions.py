"""The session deadlines of a share group's members. In memory only: after loading, every deadline starts again."""

from typing import Final

from barnabas.coordinator.core.decision import Now
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.store import GroupStore

SESSION: Final = "share-session"


def keep_session(store: GroupStore, group_id: str, member: ShareMember, now: Now) -> None:
    timeout_ms = store.configs.share_session_timeout_ms(group_id)
    store.timers.set((SESSION, group_id, member.member_id), now.monotonic_ms + timeout_ms)


def forget(store: GroupStore, group_id: str, member_id: str) -> None:
    store.timers.cancel((SESSION, group_id, member_id))
