"""Randomness as a parameter, so that a test can repeat it. `random.Random` and `random.SystemRandom` have these."""

from typing import Protocol


class Random(Protocol):
    def randrange(self, stop: int, /) -> int: ...

    def getrandbits(self, bits: int, /) -> int: ...
