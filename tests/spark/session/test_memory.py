"""Two workers read a topic that is larger than their memory limit, and copy a part of it. `make soak` uses 10 GB."""

import pytest

from barnabas.testing.spark_memory import LIMIT_BYTES, PARTITIONS, VALUE_BYTES, measure

pytestmark = pytest.mark.spark


@pytest.mark.timeout(1000)  # five JVMs, on a machine that others use too
def test_memory_of_workers_is_bounded() -> None:
    """On a cluster of two workers: 600 MB with a limit of 500 MB for each Python worker."""
    outcome = measure(0.6, 0.05)
    assert outcome.read == [outcome.records, outcome.records * VALUE_BYTES, PARTITIONS]
    assert outcome.records * VALUE_BYTES > LIMIT_BYTES
    assert outcome.copied == 50_000
    assert len(outcome.peaks.python_workers) >= 2
    assert 10 << 20 < outcome.peaks.python_bytes < LIMIT_BYTES
