"""The state machine of a classic group.

state                why it goes there
Empty                no member is left; the offsets live on until they expire
PreparingRebalance   a member joined, changed, left or failed: JoinGroup requests are parked until all are in
CompletingRebalance  all have joined and know their generation: SyncGroup requests are parked until the leader's
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
"""Every transition there is."""
