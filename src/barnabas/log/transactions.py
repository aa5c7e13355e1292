"""The transactions of a partition that readers must wait for: those that are open, and those whose end is not
committed yet.

The first unstable offset is where the oldest of them began. A reader that wants committed records only is given what
lies below it and below the high watermark: the last stable offset.

Verification guards (KIP-890): before the first batch of a transaction is appended, the transaction coordinator is asked
whether the partition belongs to the transaction. The guard is made before the question and must be the same when the
batch is appended: a marker that comes in between takes it away, and the late batch is refused instead of opening a
transaction that nobody will end. It also remembers the lowest sequence that came while the question was open, so that
a later batch cannot overtake an earlier one that waits.
"""

from collections import OrderedDict


class OpenTransactions:
    __slots__ = ("_ended", "_open")

    def __init__(self) -> None:
        self._open: OrderedDict[int, int] = OrderedDict()
        """First offset to producer id. Transactions begin at the end of the log, so the oldest comes first."""
        self._ended: OrderedDict[int, int] = OrderedDict()
        """First offset to the offset of the marker, of transactions whose marker may not be committed yet."""

    def __bool__(self) -> bool:
        return bool(self._open or self._ended)

    @property
    def open_count(self) -> int:
        return len(self._open)

    def begin(self, producer_id: int, first_offset: int) -> None:
        self._open[first_offset] = producer_id

    def end(self, first_offset: int, marker_offset: int) -> int:
        """Returns the last stable offset right after the marker, as if it were committed."""
        self._open.pop(first_offset, None)
        self._ended[first_offset] = marker_offset
        return next(iter(self._open), marker_offset + 1)

    def first_unstable(self, high_watermark: int) -> int | None:
        """None: every transaction has ended, below the high watermark."""
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
        """The producer's epoch rises with every transaction, so that its sequence starts with 0 in each."""
        self.started_ms = started_ms

    def note(self, *, epoch: int, sequence: int) -> None:
        """Another batch has come while the question is open."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)
