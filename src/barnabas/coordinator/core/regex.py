"""Regular expressions that come from clients, matched by RE2, the engine of Kafka.

Python's own engine backtracks: `(a+)+b` takes minutes on a name of forty letters, and blocks the whole process. RE2's
time is linear in the length of a name, whatever the expression, and its memory is bounded.
"""

import logging
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from barnabas.wire.errors import InvalidRegularExpression

logger = logging.getLogger(__name__)


PROGRAM_SIZE_MAX: Final = 5_000
"""In instructions: with so many, a name takes about a millisecond at worst."""


class Regex:
    def __init__(self, pattern: str) -> None:
        """Raises InvalidRegularExpression."""
        import re2  # most brokers never need it, and it takes 3 MB of memory

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True  # groups would make it quadratic
        try:
            self._compiled = re2.compile(pattern, options)
        except re2.error as error:
            raise _invalid(pattern, error.args[0].decode()) from error
        if self._compiled.programsize > PROGRAM_SIZE_MAX:
            raise _invalid(pattern, "it is too large")

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        return self._compiled.fullmatch(name) is not None


def _invalid(pattern: str, reason: str) -> InvalidRegularExpression:
    return InvalidRegularExpression(
        f"SubscribedTopicRegex `{pattern[:200]}` is not a valid regular expression: {reason}."
    )


@lru_cache(maxsize=256)
def compile_regex(pattern: str) -> str:
    """Returns the pattern if it is valid. Raises InvalidRegularExpression otherwise."""
    Regex(pattern)
    return pattern


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Runs in a worker. A stored pattern that is not valid here matches no topic."""
    try:
        regex = Regex(pattern)
    except InvalidRegularExpression as error:
        logger.warning("a subscription matches no topic: %s", error)
        return []
    return [name for name in names if regex.matches(name)]
