"""Splits a long request into pieces, so that one client's thousands of items do not block the event loop.

A handler whose request is a list of items, each with an answer of its own, declares it:

    PIECES = (Pieces("groups", answers="groups", size=20),)

Dispatch then calls it once for each piece of a long request, with other work in between, and joins the answers. The
handler itself need not know. Later pieces see what happened in between, which is fine: the items are independent.
Items that are not (two with the same name, which are refused) stay in one piece: `together`. An API that has different
lists in different versions has several `Pieces`; the first long one is used.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Pieces(NamedTuple):
    items: str
    """The list in the request."""
    answers: str
    """The list in the response."""
    size: int
    """How many items (or parts, if there are any) take a few milliseconds at most; fewer for frequent requests."""
    parts: str | None = None
    """A list within each item: `partitions` of `topics`. It has the same name in request and response."""
    together: Callable[[Any], Hashable] | None = None
    """Items with the same key stay in one piece."""

    def cut(self, request: Any) -> list[Any] | None:
        """The request in pieces; None: it is short enough."""
        items = getattr(request, self.items)
        if not items or self._weight(items) <= self.size:
            return None
        runs = self._split(items) if self.together is None else _grouped(items, self.together)
        return [request.replace(**{self.items: tuple(piece)}) for piece in self._packed(runs)]

    def _weight(self, items: Sequence[Any]) -> int:
        if self.parts is None:
            return len(items)
        if len(items) == 1:  # as in most requests
            return len(getattr(items[0], self.parts)) + 1
        return sum(len(getattr(item, self.parts)) for item in items) + len(items)

    def _split(self, items: Sequence[Any]) -> Iterator[list[Any]]:
        for item in items:
            parts = getattr(item, self.parts) if self.parts is not None else ()
            if self.parts is None or len(parts) <= self.size:
                yield [item]
                continue
            for first in range(0, len(parts), self.size):
                yield [item.replace(**{self.parts: parts[first : first + self.size]})]

    def _packed(self, runs: Iterable[list[Any]]) -> Iterator[list[Any]]:
        piece: list[Any] = []
        weight = 0
        for run in runs:
            run_weight = self._weight(run)
            if piece and weight + run_weight > self.size:
                yield piece
                piece, weight = [], 0
            piece += run
            weight += run_weight
        if piece:
            yield piece

    def join(self, responses: Sequence[Any]) -> Any:
        """All answers in one response, with the request-level error of the first piece that had one."""
        answers = [answer for response in responses for answer in getattr(response, self.answers)]
        if self.parts is not None:
            answers = self._merged(answers)
        failed = (response for response in responses if getattr(response, "error_code", 0))
        joined = next(failed, responses[0]).replace(**{self.answers: tuple(answers)})
        throttled = [response.throttle_time for response in responses if getattr(response, "throttle_time", None)]
        return joined.replace(throttle_time=max(throttled)) if throttled else joined

    def _merged(self, answers: Sequence[Any]) -> list[Any]:
        """Merge the answers of an item that was cut: all their fields are equal, except for the list."""
        assert self.parts is not None
        parts: dict[Hashable, list[Any]] = {}
        first: dict[Hashable, Any] = {}
        for answer in answers:
            key = tuple(getattr(answer, name) for name in answer.__struct_fields__ if name != self.parts)
            first.setdefault(key, answer)
            parts.setdefault(key, []).extend(getattr(answer, self.parts))
        return [answer.replace(**{self.parts: tuple(parts[key])}) for key, answer in first.items()]


def _grouped(items: Sequence[Any], key: Callable[[Any], Hashable]) -> Iterable[list[Any]]:
    groups: dict[Hashable, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()
