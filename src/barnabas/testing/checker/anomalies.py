"""The kinds of anomalies, and their meanings.

Most names are those of Jepsen's analyses of Kafka-like systems (https://jepsen.io/analyses/redpanda-21.10.1,
https://jepsen.io/analyses/bufstream-0.1.0).
"""

from enum import StrEnum
from typing import Any, NamedTuple


class Kind(StrEnum):
    LOST_WRITE = "lost write"
    UNSEEN_WRITE = "unseen write"
    DUPLICATE = "duplicate"
    INCONSISTENT_OFFSET = "inconsistent offset"
    PHANTOM = "phantom"
    ABORTED_READ = "aborted read"
    UNCOMMITTED_READ = "uncommitted read"
    TORN_TRANSACTION = "torn transaction"
    STUCK_LAST_STABLE_OFFSET = "stuck last stable offset"
    SKIPPED_POLL = "skipped poll"
    NON_MONOTONIC_POLL = "non-monotonic poll"
    INTERNAL_SKIPPED_POLL = "internal skipped poll"
    INTERNAL_NON_MONOTONIC_POLL = "internal non-monotonic poll"
    NON_MONOTONIC_SEND = "non-monotonic send"
    INTERNAL_NON_MONOTONIC_SEND = "internal non-monotonic send"
    COMMIT_REGRESSION = "commit regression"
    UNPROCESSED = "unprocessed record"
    PROCESSED_TWICE = "processed twice"
    WRONG_TOTAL = "wrong total"


MEANING = {
    Kind.LOST_WRITE: "acknowledged (or read before), but missing, although later offsets exist",
    Kind.UNSEEN_WRITE: "acknowledged, but no reader got that far by the end of the run",
    Kind.DUPLICATE: "one value was read at two offsets, although its producer must not write it twice",
    Kind.INCONSISTENT_OFFSET: "one offset, two values; or acknowledged at one offset and read at another",
    Kind.PHANTOM: "a value was read or acknowledged that was never sent to that partition",
    Kind.ABORTED_READ: "a read_committed reader got a value of an aborted transaction, or one that was refused",
    Kind.UNCOMMITTED_READ: "a read_committed reader got a value before its commit was requested",
    Kind.TORN_TRANSACTION: "some values of a transaction are visible and others are not",
    Kind.STUCK_LAST_STABLE_OFFSET: "a reader does not reach the end of a partition, although no transaction is open",
    Kind.SKIPPED_POLL: "between two polls, a reader skipped existing records",
    Kind.NON_MONOTONIC_POLL: "between two polls, a reader went back",
    Kind.INTERNAL_SKIPPED_POLL: "within one poll, a reader skipped existing records",
    Kind.INTERNAL_NON_MONOTONIC_POLL: "within one poll, a reader went back",
    Kind.NON_MONOTONIC_SEND: "a producer's later record is before its earlier one",
    Kind.INTERNAL_NON_MONOTONIC_SEND: "the same, within one transaction",
    Kind.COMMIT_REGRESSION: "a committed offset went back",
    Kind.UNPROCESSED: "no member of a group got a record, although the group committed past it or finished",
    Kind.PROCESSED_TWICE: "an exactly-once operation took effect twice",
    Kind.WRONG_TOTAL: "money appeared or disappeared",
}


class Anomaly(NamedTuple):
    kind: Kind
    where: str
    """Usually a partition."""
    what: str
    evidence: dict[str, Any]
    """Offsets, values, processes and times, to find the place in the history."""
