"""How the transactions of a query are called, and where its decisions are kept.

All names of one query begin alike (`Names.base`), so that one prefixed ACL allows them all, and so that those that are
left over can be found. Task ids are used again by every batch: ids that are used once would fill the coordinators'
memory until they expire. Two attempts of a task that run at once have different numbers, but for attempts of a stage
that was submitted anew: then the later one aborts the earlier one's transaction, which the protocol survives as it
survives a timeout.
"""

from typing import Final, NamedTuple

DEFAULT_PREFIX: Final = "barnabas-spark"
DECISIONS_TOPIC: Final = "__barnabas_spark_decisions"
DECISIONS_PARTITION: Final = 0
"""The topic has one partition: decisions are few and small, and who looks for one need not know how they spread."""


class Names(NamedTuple):
    base: str

    @property
    def driver(self) -> str:
        """The transactional id of whoever decides."""
        return f"{self.base}-driver"

    @property
    def group(self) -> str:
        """The consumer group whose offset points at the last decision."""
        return self.base

    @property
    def task_prefix(self) -> str:
        return f"{self.base}-task-"

    def task(self, partition_id: int, attempt_number: int) -> str:
        return f"{self.task_prefix}{partition_id}-{attempt_number}"


def query_names(prefix: str | None, query_id: str) -> Names:
    """Of a streaming query: its id is in its checkpoint, so it is the same after a restart."""
    return Names(f"{prefix or DEFAULT_PREFIX}-{query_id}")


def run_names(prefix: str | None, run_id: str) -> Names:
    """Of one batch write."""
    return Names(f"{prefix or DEFAULT_PREFIX}-run-{run_id}")


def numbered_names(prefix: str | None, app_id: str, topic: str | None) -> Names:
    """Of batch writes that say who they are: the same for all that have this id and write to this topic.

    Each topic has its own, so that one id serves several writes of a `foreachBatch`. The marks are in neither part, so
    no name is the beginning of another's.
    """
    return Names(f"{prefix or DEFAULT_PREFIX}-app-{app_id}:{topic or ''}:")
