"""How much of everything: `FULL` for figures that mean something, `QUICK` to see that the benchmarks work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int
    """Counted rounds, after one that only warms up (compilers, workers, page cache); the median counts."""
    topic_bytes: int
    """Of values, in each topic that is read."""
    sink_bytes: int
    triggers: int
    """Of which a latency's median is taken, in each round."""


FULL = Sizes(rounds=3, topic_bytes=200_000_000, sink_bytes=100_000_000, triggers=40)
QUICK = Sizes(rounds=1, topic_bytes=20_000_000, sink_bytes=5_000_000, triggers=5)
