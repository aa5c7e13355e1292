"""Heartbeat: a member is alive, and learns whether it has to join again. The hottest path of a coordinator."""

from typing import Final

from barnabas.coordinator.group.classic.states import EMPTY, PREPARING_REBALANCE
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import IllegalGeneration, RebalanceInProgress, UnknownMemberId
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

ALIVE: Final = HeartbeatResponse()
"""One response object for all: it only says that there is no error."""


def heartbeat(store: GroupStore, request: HeartbeatRequest, monotonic_ms: int) -> HeartbeatResponse:
    group = store.groups.get(request.group_id)
    if group is None:
        raise UnknownMemberId(f"there is no group {request.group_id}")
    member = group.validated(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}; join again")
    state = group.state
    if state is EMPTY:
        raise UnknownMemberId(f"group {group.group_id} is empty; join again")
    store.timers.set(member.session_key, monotonic_ms + member.session_timeout_ms)
    if state is PREPARING_REBALANCE:
        raise RebalanceInProgress("a member joined or left; join again")
    return ALIVE
