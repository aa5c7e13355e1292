"""Finds the offsets that may be delivered in the batches that were read.

Control batches are not delivered. If the group reads committed records only, batches of aborted transactions are not
either; reading ends at the last stable offset anyway. A batch is delivered or not as a whole: its records are not
decoded.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.log.transaction_index import AbortedTransaction
from barnabas.records.batch import Batch, BatchHeader, split_batches
from barnabas.share_partitions.core.terms import Acquired, OffsetRange


class ReadBatches(NamedTuple):
    data: list[OffsetRange]
    ineligible: list[OffsetRange]
    batches: list[Batch]


def find_ineligible(records: bytes, aborted: Sequence[AbortedTransaction]) -> ReadBatches:
    """`records`: batches as read from the log; the last one may be incomplete."""
    by_producer: dict[int, list[AbortedTransaction]] = {}
    for transaction in aborted:
        by_producer.setdefault(transaction.producer_id, []).append(transaction)
    read = ReadBatches([], [], [])
    for batch in split_batches(records):
        header = batch.header
        offsets = OffsetRange(header.base_offset, header.last_offset)
        read.data.append(offsets)
        read.batches.append(batch)
        if header.is_control or (header.is_transactional and _is_aborted(header, by_producer)):
            read.ineligible.append(offsets)
    return read


def _is_aborted(header: BatchHeader, by_producer: dict[int, list[AbortedTransaction]]) -> bool:
    return any(
        transaction.first_offset <= header.base_offset <= transaction.last_offset
        for transaction in by_producer.get(header.producer_id, ())
    )


def batches_with(acquired: Sequence[Acquired], batches: Sequence[Batch]) -> bytes:
    """The batches from the first acquired record to the last. Clients skip records they have not acquired."""
    first, last = acquired[0].first, acquired[-1].last
    return b"".join(
        batch.data for batch in batches if batch.header.last_offset >= first and batch.header.base_offset <= last
    )
