"""Matches topics with a regular expression, in time linear in the length of their names.

Patterns come from clients, and Python's own engine backtracks: `(a+)+b` takes minutes on a name of forty letters, and
blocks the whole process. So a pattern is compiled to a small program (Thompson's construction), all threads of the
program advance over a name together, and sets of threads are cached with their transitions (a lazy DFA). The length of
a program and the work for one resolution are both bounded.
"""

import logging
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from barnabas.coordinator.group.consumer.regex_syntax import (
    WORD,
    Assertion,
    Chars,
    Choice,
    Node,
    Repeat,
    Sequence,
    parse,
)
from barnabas.wire.errors import InvalidRegularExpression

logger = logging.getLogger(__name__)

PROGRAM_SIZE_MAX: Final = 3_000
"""Nested counts multiply: `((a{100}){100}){100}` would have a million instructions."""
WORK_MAX: Final = 20_000_000
"""Instructions executed for one pattern: a few seconds of a worker. Ordinary patterns need far fewer."""
REMEMBERED_MAX: Final = 20_000

_START, _END, _OTHER, _WORD = "start", "end", "other", "word"
"""The characters before and after a position in a name."""


class _Split(NamedTuple):
    first: int
    second: int


class _Assert(NamedTuple):
    kind: str


_MATCH: Final = None
_Instruction = Chars | _Split | _Assert | None

Threads = frozenset[int]


class TooMuchWork(Exception):
    """The pattern is valid, but takes too long."""


class Regex:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._program: list[_Instruction] = []
        self._compiled = 0
        """Counts nodes, not instructions: an empty group that is repeated has no instructions."""
        self._compile(parse(pattern))
        self._program.append(_MATCH)
        self._remembered: dict[tuple[Threads, str, str], Threads] = {}
        self._work = 0

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        threads = self._closure((0,), _START, _neighbours(name, 0))
        for position, char in enumerate(name):
            threads = self._step(threads, char, _neighbours(name, position + 1))
            if not threads:
                return False
        return len(self._program) - 1 in threads

    def _step(self, threads: Threads, char: str, after: str) -> Threads:
        key = (threads, char, after)
        known = self._remembered.get(key)
        if known is None:
            reached = []
            for index in threads:
                instruction = self._program[index]
                if isinstance(instruction, Chars) and char in instruction.accepted:
                    reached.append(index + 1)
            known = self._closure(reached, _WORD if char in WORD else _OTHER, after)
            if len(self._remembered) >= REMEMBERED_MAX:
                self._remembered.clear()
            self._remembered[key] = known
        return known

    def _closure(self, indexes: Iterable[int], before: str, after: str) -> Threads:
        """All instructions that can be reached without reading a character."""
        reached: set[int] = set()
        waiting = list(indexes)
        while waiting:
            index = waiting.pop()
            if index in reached:
                continue
            reached.add(index)
            instruction = self._program[index]
            if isinstance(instruction, _Split):
                waiting += instruction
            elif isinstance(instruction, _Assert) and _holds(instruction.kind, before, after):
                waiting.append(index + 1)
        self._work += len(reached) + 1
        if self._work > WORK_MAX:
            raise TooMuchWork
        return frozenset(reached)

    # --- compiling

    def _compile(self, node: Node) -> None:
        self._compiled += 1
        if self._compiled > PROGRAM_SIZE_MAX:
            raise InvalidRegularExpression(
                f"SubscribedTopicRegex `{self.pattern[:200]}` is not a valid regular expression: it is too large."
            )
        match node:
            case Chars():
                self._program.append(node)
            case Assertion(kind):
                self._program.append(_Assert(kind))
            case Sequence(nodes):
                for each in nodes:
                    self._compile(each)
            case Choice(nodes):
                self._compile_choice(nodes)
            case Repeat(repeated, least, most):
                for _ in range(least):
                    self._compile(repeated)
                if most is None:
                    self._compile_any_number(repeated)
                else:
                    self._compile_up_to(repeated, most - least)

    def _reserve(self) -> int:
        self._program.append(_Split(0, 0))
        return len(self._program) - 1

    def _fill(self, place: int, first: int, second: int) -> None:
        self._program[place] = _Split(first, second)

    def _compile_choice(self, nodes: tuple[Node, ...]) -> None:
        ends = []
        for each in nodes[:-1]:
            split = self._reserve()
            self._compile(each)
            ends.append(self._reserve())
            self._fill(split, split + 1, len(self._program))
        self._compile(nodes[-1])
        for end in ends:
            self._fill(end, len(self._program), len(self._program))

    def _compile_any_number(self, node: Node) -> None:
        split = self._reserve()
        self._compile(node)
        back = self._reserve()
        self._fill(back, split, split)
        self._fill(split, split + 1, len(self._program))

    def _compile_up_to(self, node: Node, count: int) -> None:
        splits = []
        for _ in range(count):
            splits.append(self._reserve())
            self._compile(node)
        for split in splits:
            self._fill(split, split + 1, len(self._program))


def _neighbours(name: str, position: int) -> str:
    if position >= len(name):
        return _END
    return _WORD if name[position] in WORD else _OTHER


def _holds(kind: str, before: str, after: str) -> bool:
    match kind:
        case "start":
            return before == _START
        case "end":
            return after == _END
    is_boundary = (before == _WORD) != (after == _WORD)
    return is_boundary if kind == "boundary" else not is_boundary


@lru_cache(maxsize=256)
def compile_regex(pattern: str) -> str:
    """Returns the pattern if it is valid. Raises InvalidRegularExpression otherwise."""
    Regex(pattern)
    return pattern


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Runs in a worker. A stored pattern that is not valid here, or takes too long, matches no topic."""
    try:
        regex = Regex(pattern)
        return [name for name in names if regex.matches(name)]
    except InvalidRegularExpression as error:
        logger.warning("a subscription matches no topic: %s", error)
    except TooMuchWork:
        logger.warning(
            "a subscription matches no topic: `%s` takes too long to match; use a simpler one", pattern[:200]
        )
    return []
