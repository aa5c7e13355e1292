"""The unstable transactions of a partition: open ones, and those whose marker is not below the high watermark yet.

The first unstable offset is where the oldest of them begins. A read_committed consumer gets records below it and below
the high watermark: below the last stable offset.

Verification guards (KIP-890): before the first batch of a transaction is appended, the leader asks the transaction
coordinator whether the partition is part of the transaction. The guard is created before that request and must still be
there when the batch is appended: a marker in between removes it, so that a late batch is refused instead of opening a
transaction that would never end. The guard also has the lowest sequence that arrived during the verification, so that
a later batch is not appended before an earlier one.
"""

from collections import OrderedDict


class OpenTransactions:
    __slots__ = ("_ended", "_open")

    def __init__(self) -> None:
        self._open: OrderedDict[int, int] = OrderedDict()
        """First offset to producer id, the oldest first: transactions begin at the end of the log."""
        self._ended: OrderedDict[int, int] = OrderedDict()
        """First offset to marker offset, for transactions whose marker may not be below the high watermark yet."""

    def __bool__(self) -> bool:
        return bool(self._open or self._ended)

    def begin(self, producer_id: int, first_offset: int) -> None:
        self._open[first_offset] = producer_id

    def end(self, first_offset: int, marker_offset: int) -> int:
        """Returns the last stable offset right after the marker, as if the marker were committed."""
        self._open.pop(first_offset, None)
        self._ended[first_offset] = marker_offset
        return next(iter(self._open), marker_offset + 1)

    def first_unstable(self, high_watermark: int) -> int | None:
        """None: the markers of all transactions are below the high watermark."""
        ended = self._ended
        for first_offset, marker_offset in list(ended.items()):
            if marker_offset < high_watermark:
                del ended[first_offset]
        oldest = next(iter(self._open), None)
        if ended:
            first_ended = min(ended)
            return first_ended if oldest is None else min(oldest, first_ended)
        return oldest


class VerificationGuard:
    __slots__ = ("epoch", "lowest_sequence", "started_ms", "supports_epoch_bump")

    def __init__(self, *, epoch: int, sequence: int, supports_epoch_bump: bool, started_ms: int) -> None:
        self.epoch = epoch
        self.lowest_sequence = sequence
        self.supports_epoch_bump = supports_epoch_bump
        """The producer's epoch is bumped with every transaction, so its sequence starts with 0 in each."""
        self.started_ms = started_ms

    def note(self, *, epoch: int, sequence: int) -> None:
        """Another batch arrived during the verification."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)
