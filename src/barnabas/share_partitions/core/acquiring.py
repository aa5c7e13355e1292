"""The state of one acquire call: how many records it may still take, and those it has taken, in batches."""

from collections.abc import Iterator, Sequence

from barnabas.share_partitions.core.terms import Acquired, OffsetRange


class Acquiring:
    def __init__(self, data: Sequence[OffsetRange], records_left: int, batch_size: int, *, exact: bool) -> None:
        self.data = data
        self.records_left = records_left
        self.taken: list[Acquired] = []
        self._batch_size = batch_size
        self._exact = exact

    def end_of(self, first: int, last: int) -> int:
        """The end of a batch that begins at `first`: the limit, or the end of the record batch that contains it."""
        limit = first + self.records_left - 1
        if limit >= last or self._exact:
            return min(limit, last)
        return min(next((batch.last for batch in self.data if batch.last >= limit), limit), last)

    def take(self, first: int, last: int, delivery_count: int) -> None:
        self.records_left -= last - first + 1
        for piece_first, piece_last in self._pieces(first, last):
            before = self.taken[-1] if self.taken else None
            if (
                before is not None
                and before.last + 1 == piece_first
                and before.delivery_count == delivery_count
                and piece_last - before.first < self._batch_size
            ):
                self.taken[-1] = before._replace(last=piece_last)
            else:
                self.taken.append(Acquired(piece_first, piece_last, delivery_count))

    def _pieces(self, first: int, last: int) -> Iterator[OffsetRange]:
        """Of about the batch size each, split between record batches: what a client acknowledges together."""
        if self._exact or last - first < self._batch_size:
            yield OffsetRange(first, last)
            return
        begin = first
        for batch in self.data:
            if batch.first > last:
                break
            if batch.first - begin >= self._batch_size:
                yield OffsetRange(begin, batch.first - 1)
                begin = batch.first
        yield OffsetRange(begin, last)
