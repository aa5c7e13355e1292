"""Who may commit the offsets of a classic group.

A member commits in its group's generation. A commit with generation -1 comes from an administrator, or from a consumer
that assigns its own partitions; the group must have no members then.
"""

from typing import Final

from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY
from barnabas.wire.errors import IllegalGeneration, RebalanceInProgress, UnknownMemberId

_NO_GENERATION: Final = -1


def check_commit(group: ClassicGroup, member_id: str, group_instance_id: str | None, generation: int) -> None:
    if generation < 0 and group.state is EMPTY:
        return
    if generation < 0 and not member_id and group_instance_id is None:
        raise UnknownMemberId(f"group {group.group_id} has members; only they can commit its offsets")
    _check_generation(group, member_id, group_instance_id, generation)
    if group.state is COMPLETING_REBALANCE:
        # It has no assignment in this generation yet, so it cannot have consumed anything.
        raise RebalanceInProgress("the group is rebalancing; commit when the member has its assignment")


def check_txn_commit(group: ClassicGroup, member_id: str, group_instance_id: str | None, generation: int) -> None:
    """The producer epoch fences transactions, so a client may leave out the member. A rebalance is no obstacle."""
    if generation < 0 and group.state is EMPTY:
        return
    if generation == _NO_GENERATION and not member_id and group_instance_id is None:
        return
    _check_generation(group, member_id, group_instance_id, generation)


def _check_generation(group: ClassicGroup, member_id: str, group_instance_id: str | None, generation: int) -> None:
    group.validated(member_id, group_instance_id)
    if generation != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}; join again")
