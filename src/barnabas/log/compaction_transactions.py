"""Tracks transactions during compaction: which records were aborted, and which markers are still needed.

The transaction indexes list the aborted transactions. Their records are dropped, and do not supersede others. A marker
is needed as long as records of its transaction remain. If compaction finds a marker without any, the marker gets a
delete horizon and is dropped after that time: until then, readers that are in the middle of the transaction can see
that it has ended. The aborts whose markers are needed become the transaction index of the cleaned segment.
"""

from collections.abc import Iterable

from barnabas.log.transaction_index import AbortedTransaction
from barnabas.records.batch import Batch, BatchHeader
from barnabas.records.control import read_marker


class TransactionTracker:
    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._upcoming = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
        """Aborted transactions that begin after the current batch, the next one last."""
        self._aborted: dict[int, AbortedTransaction] = {}
        """By producer id: the aborted transaction that the current batch may belong to."""
        self._seen_aborted: set[int] = set()
        """Producers with a batch in their current aborted transaction."""
        self._seen_committed: set[int] = set()
        self.still_needed: list[AbortedTransaction] = []
        """The transaction index of the segment that is being written."""

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a data batch was aborted. Call this or `is_obsolete_marker` for every batch, in order."""
        self._advance_to(header)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._seen_aborted.add(header.producer_id)
            return True
        self._seen_committed.add(header.producer_id)
        return False

    def is_obsolete_marker(self, batch: Batch) -> bool:
        """Whether no record is left of the transaction that a control batch ended."""
        header = batch.header
        self._advance_to(header)
        marker = read_marker(batch)
        if marker is None:
            return header.record_count == 0
        producer_id = header.producer_id
        if marker.commit:
            is_needed = producer_id in self._seen_committed
            self._seen_committed.discard(producer_id)
            return not is_needed
        transaction = self._aborted.pop(producer_id, None)
        if transaction is None or producer_id not in self._seen_aborted:
            return True
        self._seen_aborted.discard(producer_id)
        self.still_needed.append(transaction)
        return False

    def _advance_to(self, header: BatchHeader) -> None:
        while self._upcoming and self._upcoming[-1].first_offset <= header.last_offset:
            transaction = self._upcoming.pop()
            if transaction.last_offset >= header.base_offset:
                self._aborted.setdefault(transaction.producer_id, transaction)
