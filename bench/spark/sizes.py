"""How much of everything: `FULL` for figures that mean something, `QUICK` to see that the benchmarks work."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int
    """Measured rounds, after one that only warms up (compilers, workers, page cache); the result is their median."""
    records: Mapping[int, int]
    """In each topic, by the size of its values. Spark's connector waits a second at the end of a topic, whatever its
    size: reading a topic must take much longer than that, or we look better than we are."""
    sink_bytes: int
    triggers: int
    """The number of triggers for the median latency of a round."""
    history_records: int
    archive_s: int
    """How long records are produced while the archiver keeps up."""


FULL = Sizes(
    rounds=3,
    records={100: 3_000_000, 1024: 1_000_000},
    sink_bytes=100_000_000,
    triggers=40,
    history_records=2_000_000,
    archive_s=20,
)
QUICK = Sizes(
    rounds=1,
    records={100: 200_000, 1024: 20_000},
    sink_bytes=5_000_000,
    triggers=5,
    history_records=50_000,
    archive_s=3,
)
