"""Errors that the protocol cannot recover from. Each says what was kept and what to do."""

from barnabas.spark.errors import UserError


class DecisionLost(UserError):
    """A task or the pointer refers to a decision that is no longer in its topic."""


class OlderThanDecided(UserError):
    """Spark replays a batch although a later one of the query is decided."""


class OutcomeUnclear(UserError):
    """The log no longer shows how a transaction of a decided batch ended."""


class RecordsGone(UserError):
    """Records of a decided batch were aborted and then removed from the log, other than by retention."""
