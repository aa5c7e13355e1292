"""What a target is."""

import random
from collections.abc import Callable
from typing import NamedTuple


class Target(NamedTuple):
    name: str
    make_seeds: Callable[[random.Random], list[bytes]]
    """Sound inputs, made by our own writers: where mutation starts from."""
    run: Callable[[bytes], None]
    """Feed one input. It swallows the errors that the reader declares; whatever it raises is a defect."""
