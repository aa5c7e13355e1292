"""The result of every `decide_*` function: the records to commit, and the answer to send after that.

A decision by itself changes nothing. If a request names several topics or resources, the invalid ones get an error in
the answer and no records; the others are not affected.
"""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from barnabas.metadata.records import MetadataRecord
from barnabas.wire.errors import KafkaError, PolicyViolation

R_co = TypeVar("R_co", covariant=True)

Outcome = KafkaError | None
"""Of one item of a request: why it was refused, or None."""

RECORDS_MAX: Final = 10_000
"""The most records that one request may write, as in Kafka."""


Spend = Callable[[int], None]
"""Counts created and deleted partitions, or raises ThrottlingQuotaExceeded: the client must wait."""


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
