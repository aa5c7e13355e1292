"""What the protocol cannot go on from by itself. Each says what was kept and what to do."""

from barnabas.spark.errors import UserError


class DecisionLost(UserError):
    """A task or the pointer knows of a decision that is not in its topic any more."""


class OlderThanDecided(UserError):
    """Spark replays a batch although a later one of the query is decided."""


class OutcomeUnclear(UserError):
    """The log does not say any more how a transaction of a decided batch ended."""


class RecordsGone(UserError):
    """Records of a decided batch were aborted and then removed from the log, other than by retention."""
