"""What a target is."""

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Target(NamedTuple):
    name: str
    make_seeds: Callable[[random.Random], list[bytes]]
    """Valid inputs, written by our own code: the start of mutation."""
    run: Callable[[bytes], None]
    """Parse one input. It catches the errors that the parser declares; any other error is a defect."""
    readers: Callable[[], Iterable[Callable[..., Any]]] = tuple
    """Functions that are compiled while the program runs: atheris cannot find these itself."""
