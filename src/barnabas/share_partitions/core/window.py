"""The records in flight: all offsets from the start offset to the end offset, in spans of the same state.

    start_offset <= every span < end_offset; spans are contiguous and cover the whole window

A span is split if only a part of it changes, and merged with its neighbour when both are in the same state. So a window
of ten thousand records that were fetched and accepted in batches is a handful of spans.
"""

from bisect import bisect_right
from collections.abc import Iterator

from barnabas.model.share import DeliveryState


class Span:
    """Offsets first to last, inclusive. While they are acquired, `member` has locked them until `lock_deadline_ms`."""

    __slots__ = ("count", "first", "last", "lock_deadline_ms", "member", "pending", "state", "target")

    def __init__(self, first: int, last: int, state: DeliveryState, count: int) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.count = count
        """The delivery count of these records."""
        self.member: str | None = None
        self.lock_deadline_ms = 0
        self.pending: object | None = None
        """The transition that must be persisted before `target` becomes the state."""
        self.target = state

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __repr__(self) -> str:
        pending = f" -> {self.target.name}" if self.pending is not None else ""
        held = f" by {self.member}" if self.member is not None else ""
        return f"{self.first}-{self.last} {self.state.name}{pending}{held} x{self.count}"

    @property
    def is_available(self) -> bool:
        return self.state is DeliveryState.AVAILABLE

    @property
    def is_final(self) -> bool:
        return self.state.is_final

    @property
    def will_be_final(self) -> bool:
        return self.state.is_final or (self.pending is not None and self.target.is_final)

    def cut(self, offset: int) -> "Span":
        """Split the span: keep the part before the offset, and return the rest."""
        rest = Span(offset, self.last, self.state, self.count)
        rest.member, rest.lock_deadline_ms = self.member, self.lock_deadline_ms
        rest.pending, rest.target = self.pending, self.target
        self.last = offset - 1
        return rest

    def has_same_state(self, other: "Span") -> bool:
        return (
            self.state is other.state
            and self.count == other.count
            and self.member == other.member
            and self.lock_deadline_ms == other.lock_deadline_ms
            and self.pending is other.pending
            and self.target is other.target
        )


class Window:
    def __init__(self, start_offset: int) -> None:
        self.start_offset = start_offset
        self._spans: list[Span] = []
        self._firsts: list[int] = []

    @property
    def end_offset(self) -> int:
        """The first offset that is not in flight."""
        return self._spans[-1].last + 1 if self._spans else self.start_offset

    def __len__(self) -> int:
        """How many records are in flight."""
        return self.end_offset - self.start_offset

    @property
    def spans(self) -> list[Span]:
        return self._spans

    def overlapping(self, first: int, last: int) -> list[Span]:
        """The spans that overlap the range; they may extend beyond it."""
        begin = max(bisect_right(self._firsts, first) - 1, 0)
        end = bisect_right(self._firsts, last)
        return [span for span in self._spans[begin:end] if span.last >= first]

    def within(self, first: int, last: int) -> list[Span]:
        """Like `overlapping`, with the spans split at both ends of the range."""
        self._cut(first)
        self._cut(last + 1)
        return self.overlapping(first, last)

    def from_offset(self, offset: int) -> Iterator[Span]:
        index = max(bisect_right(self._firsts, offset) - 1, 0)
        while index < len(self._spans):
            if self._spans[index].last >= offset:
                yield self._spans[index]
            index += 1

    def append(self, span: Span) -> None:
        assert span.first == self.end_offset
        self._spans.append(span)
        self._firsts.append(span.first)

    def begin_at(self, offset: int) -> None:
        """Remove everything before the offset, in any state."""
        self._cut(offset)
        keep = bisect_right(self._firsts, offset - 1)
        del self._spans[:keep], self._firsts[:keep]
        self.start_offset = offset

    def _cut(self, offset: int) -> None:
        index = bisect_right(self._firsts, offset) - 1
        if index < 0:
            return
        span = self._spans[index]
        if span.first < offset <= span.last:
            self._spans.insert(index + 1, span.cut(offset))
            self._firsts.insert(index + 1, offset)

    def join(self, first: int, last: int) -> None:
        """Merge equal neighbours in and around the range."""
        begin = max(bisect_right(self._firsts, first) - 2, 0)
        end = min(bisect_right(self._firsts, last) + 1, len(self._spans))
        joined: list[Span] = []
        for span in self._spans[begin:end]:
            if joined and joined[-1].has_same_state(span):
                joined[-1].last = span.last
            else:
                joined.append(span)
        if len(joined) < end - begin:
            self._spans[begin:end] = joined
            self._firsts[begin:end] = [span.first for span in joined]
