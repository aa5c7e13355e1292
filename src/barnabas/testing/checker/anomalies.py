"""The things that must not happen, and what each of them means.

The names follow Jepsen's analyses of Kafka-like systems (https://jepsen.io/analyses/redpanda-21.10.1,
https://jepsen.io/analyses/bufstream-0.1.0), where they exist.
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
    Kind.LOST_WRITE: "acknowledged (or read before), and gone: later offsets are there",
    Kind.UNSEEN_WRITE: "acknowledged, and nobody has read that far, though the run has ended",
    Kind.DUPLICATE: "one value was read at two offsets, though its producer may not write it twice",
    Kind.INCONSISTENT_OFFSET: "one offset, two values; or acknowledged at one offset and read at another",
    Kind.PHANTOM: "a value was read, or acknowledged, that nobody has sent there",
    Kind.ABORTED_READ: "a read_committed reader got a value of an aborted transaction, or one that was refused",
    Kind.UNCOMMITTED_READ: "a read_committed reader got a value before anybody asked for its commit",
    Kind.TORN_TRANSACTION: "of one transaction some values are there and others are not",
    Kind.STUCK_LAST_STABLE_OFFSET: "a reader does not reach the end of a partition, and no transaction is open",
    Kind.SKIPPED_POLL: "between two polls, a reader was led past records that are there",
    Kind.NON_MONOTONIC_POLL: "between two polls, a reader was led back",
    Kind.INTERNAL_SKIPPED_POLL: "within one poll, a reader was led past records that are there",
    Kind.INTERNAL_NON_MONOTONIC_POLL: "within one poll, a reader was led back",
    Kind.NON_MONOTONIC_SEND: "a producer's later record stands before its earlier one",
    Kind.INTERNAL_NON_MONOTONIC_SEND: "the same, within one transaction",
    Kind.COMMIT_REGRESSION: "a committed offset went back",
    Kind.UNPROCESSED: "a group has committed past a record that none of its members has got, or never came to it",
    Kind.PROCESSED_TWICE: "what was to be done exactly once was done twice",
    Kind.WRONG_TOTAL: "money appeared or disappeared",
}


class Anomaly(NamedTuple):
    kind: Kind
    where: str
    """A partition, mostly."""
    what: str
    evidence: dict[str, Any]
    """Offsets, values, processes, times: enough to find the place in the history."""
