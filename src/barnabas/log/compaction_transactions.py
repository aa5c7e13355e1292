"""Transactions as compaction meets them, batch by batch: which records were aborted, which markers are still needed.

What was aborted is known from the transaction indexes. Records of aborted transactions go, and supersede nothing. A
marker is needed as long as a record of its transaction is there to be judged by it: once compaction comes upon a marker
without having seen any, it gets a delete horizon, and goes when that has passed. Readers that began before must find it
meanwhile, to know that the transaction has ended. The entries of the markers that are needed make up the transaction
index of the cleaned segment.
"""

from collections.abc import Iterable

from barnabas.log.transaction_index import AbortedTransaction
from barnabas.records.batch import Batch, BatchHeader
from barnabas.records.control import read_marker


class TransactionTracker:
    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ahead = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
        """Those that begin behind what was read so far, the next one last."""
        self._aborted: dict[int, AbortedTransaction] = {}
        """By producer id: the aborted transaction that is open where we are."""
        self._seen_aborted: set[int] = set()
        """Producers of whose aborted transaction a batch was met."""
        self._seen_committed: set[int] = set()
        self.still_needed: list[AbortedTransaction] = []
        """Entries for the transaction index of the segment that is being written."""

    def is_aborted(self, header: BatchHeader) -> bool:
        """Of a data batch. Every batch must be told of, in order."""
        self._advance_to(header)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._seen_aborted.add(header.producer_id)
            return True
        self._seen_committed.add(header.producer_id)
        return False

    def is_obsolete_marker(self, batch: Batch) -> bool:
        """Of a control batch: nothing is left of the transaction that it ended."""
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
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            transaction = self._ahead.pop()
            if transaction.last_offset >= header.base_offset:
                self._aborted.setdefault(transaction.producer_id, transaction)
