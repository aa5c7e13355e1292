"""A request that is a list of items, each with an answer of its own, may be answered some items at a time.

A client chooses how many there are. So a handler that works through such a list says so:

    PIECES = (Pieces("groups", answers="groups", size=20),)

and dispatch calls it once for every piece of a long request, with other work in between, and joins the answers. The
handler itself knows nothing of it. What happens in between is seen by the later pieces: items never depended on one
another. Those that do (two of the same name, which are refused) stay in one piece: `together`. An API with several such
lists, one for each age of its versions, has several `Pieces`; the first that is long counts.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Pieces(NamedTuple):
    items: str
    """The list in the request."""
    answers: str
    """The list in the response."""
    size: int
    """How many items are surely done in a few milliseconds; parts, where there are. What comes often has less."""
    parts: str | None = None
    """A list within each item: `partitions` of `topics`. Requests and responses have it under one name."""
    together: Callable[[Any], Hashable] | None = None
    """Items of which this is the same stay together."""

    def cut(self, request: Any) -> list[Any] | None:
        """None: it is short."""
        items = getattr(request, self.items)
        if not items or self._weight(items) <= self.size:
            return None
        runs = self._split(items) if self.together is None else _grouped(items, self.together)
        return [dataclasses.replace(request, **{self.items: tuple(piece)}) for piece in self._packed(runs)]

    def _weight(self, items: Sequence[Any]) -> int:
        return len(items) if self.parts is None else sum(len(getattr(item, self.parts)) for item in items) + len(items)

    def _split(self, items: Sequence[Any]) -> Iterator[list[Any]]:
        for item in items:
            parts = getattr(item, self.parts) if self.parts is not None else ()
            if self.parts is None or len(parts) <= self.size:
                yield [item]
                continue
            for first in range(0, len(parts), self.size):
                yield [dataclasses.replace(item, **{self.parts: parts[first : first + self.size]})]

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
        """All answers in one response. An error of the whole request is told if any piece had one."""
        answers = [answer for response in responses for answer in getattr(response, self.answers)]
        if self.parts is not None:
            answers = self._merged(answers)
        failed = (response for response in responses if getattr(response, "error_code", 0))
        joined = next(failed, responses[0]).replace(**{self.answers: tuple(answers)})
        rests = [response.throttle_time for response in responses if getattr(response, "throttle_time", None)]
        return joined.replace(throttle_time=max(rests)) if rests else joined

    def _merged(self, answers: Sequence[Any]) -> list[Any]:
        """An item that was cut has its answer in several pieces; it is told apart by all but its list."""
        assert self.parts is not None
        parts: dict[Hashable, list[Any]] = {}
        first: dict[Hashable, Any] = {}
        for answer in answers:
            key = tuple(getattr(answer, name) for name in answer.__slots__ if name != self.parts)
            first.setdefault(key, answer)
            parts.setdefault(key, []).extend(getattr(answer, self.parts))
        return [answer.replace(**{self.parts: tuple(parts[key])}) for key, answer in first.items()]


def _grouped(items: Sequence[Any], key: Callable[[Any], Hashable]) -> Iterable[list[Any]]:
    groups: dict[Hashable, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()
