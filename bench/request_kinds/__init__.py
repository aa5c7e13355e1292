"""What real clients send most. `KINDS` is the order of a run."""

from typing import Final

from bench.request_kinds import fetch, groups, lookups, produce, quota
from bench.request_kinds.kind import RequestKind

KINDS: Final[tuple[RequestKind, ...]] = (
    *produce.KINDS,
    *fetch.KINDS,
    *groups.KINDS,
    *lookups.KINDS,
    produce.TRANSACTION,
    *quota.KINDS,  # last: once there is a quota, Apache Kafka measures the traffic of all clients
)
