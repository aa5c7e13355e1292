"""The state machine of a classic group.

state                when
Empty                it has no members; offsets are kept until they expire
PreparingRebalance   a member joined, changed, left or failed: JoinGroup requests are parked until all have joined
CompletingRebalance  all have joined and have the generation: SyncGroup requests are parked until the leader's
                     assignment is stored
Stable               every member has its assignment
Dead                 deleted, or the coordinator has moved
"""

from enum import Enum
from typing import Final


class GroupState(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY: Final = GroupState.EMPTY
PREPARING_REBALANCE: Final = GroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE: Final = GroupState.COMPLETING_REBALANCE
STABLE: Final = GroupState.STABLE
DEAD: Final = GroupState.DEAD

TRANSITIONS: Final[dict[GroupState, frozenset[GroupState]]] = {
    EMPTY: frozenset({PREPARING_REBALANCE, DEAD}),
    PREPARING_REBALANCE: frozenset({COMPLETING_REBALANCE, EMPTY, DEAD}),
    COMPLETING_REBALANCE: frozenset({STABLE, PREPARING_REBALANCE, DEAD}),
    STABLE: frozenset({PREPARING_REBALANCE, DEAD}),
    DEAD: frozenset(),
}
"""All transitions."""
