"""The state machine of a transactional id.

state           what it means
Empty           a producer has its id and epoch; nothing was written with them
Ongoing         partitions have been added; records may be written to them
PrepareCommit   the outcome is decided and durable: markers are sent until every partition has one
PrepareAbort    the same, with the other outcome
CompleteCommit  every marker is written; the next transaction may begin
CompleteAbort   the same, with the other outcome
Dead            unused for too long: only a tombstone is stored
PrepareEpochFence  a zombie's transaction is about to be aborted; known to Kafka's tools, and never stored
"""

from enum import Enum
from typing import Final


class TransactionState(Enum):
    """In the order of their numbers in the log."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


EMPTY: Final = TransactionState.EMPTY
ONGOING: Final = TransactionState.ONGOING
PREPARE_COMMIT: Final = TransactionState.PREPARE_COMMIT
PREPARE_ABORT: Final = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT: Final = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT: Final = TransactionState.COMPLETE_ABORT

STATES: Final = tuple(TransactionState)
STATE_NUMBERS: Final = {state: number for number, state in enumerate(STATES)}

COMPLETING: Final = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
"""Decided and not complete: the next transaction cannot begin yet."""
IDLE: Final = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})
"""No transaction is open. Only in these states may a transactional id expire."""

TRANSITIONS: Final[dict[TransactionState, frozenset[TransactionState]]] = {
    EMPTY: frozenset({EMPTY, ONGOING, PREPARE_ABORT}),
    ONGOING: frozenset({ONGOING, PREPARE_COMMIT, PREPARE_ABORT}),
    PREPARE_COMMIT: frozenset({COMPLETE_COMMIT}),
    PREPARE_ABORT: frozenset({COMPLETE_ABORT}),
    COMPLETE_COMMIT: frozenset({EMPTY, ONGOING, PREPARE_ABORT}),
    COMPLETE_ABORT: frozenset({EMPTY, ONGOING, PREPARE_ABORT}),
}
"""All transitions. Empty and Complete lead to PrepareAbort: with transaction.version 2 an abort moves the producer to
its next epoch even if nothing was written."""
