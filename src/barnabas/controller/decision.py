"""What every `decide_*` function returns: records that make it so, and the answer to give once they are committed.

A decision changes nothing. One request touches several topics or resources; the faulty ones get an error in the answer
and contribute no records, the others go through.
"""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from barnabas.metadata.records import MetadataRecord
from barnabas.wire.errors import PolicyViolation

R_co = TypeVar("R_co", covariant=True)

RECORDS_MAX: Final = 10_000
"""The most records one request may write: Kafka's own bound for what a user does at once."""


Spend = Callable[[int], None]
"""Takes note of partitions that are made or deleted, or raises ThrottlingQuotaExceeded: the client must wait."""


def unlimited(partitions: int) -> None:
    """No quota is set."""


class Decision(NamedTuple, Generic[R_co]):
    records: tuple[MetadataRecord, ...]
    response: R_co


def check_record_count(count: int) -> None:
    if count > RECORDS_MAX:
        raise PolicyViolation(
            f"Unable to perform excessively large batch operation: {count} records, and {RECORDS_MAX} are allowed."
            " Split the request into smaller ones."
        )
