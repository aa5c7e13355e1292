"""The transactional ids of a query, and the names of where its decisions are stored.

All names of one query have the same prefix (`Names.base`), so that one prefixed ACL allows them all, and leftovers can
be found. Task ids are reused by every batch: new ids for each would fill the coordinators' memory until they expire.
Two attempts of a task that run at once have different numbers, except for attempts of a resubmitted stage: then the
later one aborts the transaction of the earlier one, which the protocol handles like a timeout.
"""

from typing import Final, NamedTuple

DEFAULT_PREFIX: Final = "barnabas-spark"
DECISIONS_TOPIC: Final = "__barnabas_spark_decisions"
DECISIONS_PARTITION: Final = 0
"""The topic has one partition: decisions are few and small, and easy to find there."""


class Names(NamedTuple):
    base: str

    @property
    def driver(self) -> str:
        """The transactional id of the driver, which decides."""
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
    """Of batch writes with an id: the same for all that have this id and write to this topic.

    Each topic has its own, so that one id serves several writes of a `foreachBatch`. Neither part contains the
    separator, so no name is a prefix of another.
    """
    return Names(f"{prefix or DEFAULT_PREFIX}-app-{app_id}:{topic or ''}:")
