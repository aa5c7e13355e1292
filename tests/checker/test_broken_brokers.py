"""The checker finds the faults of brokers that are broken on purpose."""

from pathlib import Path

import pytest

from barnabas.testing.checker import Kind, Result, check, history
from barnabas.testing.checker.run import Plan, run

SEED = 20261115


def find_anomalies(workload: str, broken: str, faults: tuple[str, ...], directory: Path, seconds: float) -> Result:
    plan = Plan(workload, seconds, SEED, directory, faults=faults, broken=broken)
    return check(*history.read(run(plan, tell=lambda line: None)))


def kinds(result: Result) -> set[Kind]:
    return {anomaly.kind for anomaly in result.anomalies}


@pytest.mark.crash
def test_a_broker_that_acknowledges_before_it_appends(tmp_path: Path) -> None:
    """A kill loses acknowledged records, and later records get their offsets."""
    result = find_anomalies("idempotent", "acks-before-appending", ("kill-broker",), tmp_path, 6)
    assert {Kind.LOST_WRITE, Kind.INCONSISTENT_OFFSET} <= kinds(result), result.counts


@pytest.mark.crash
def test_a_broker_that_forgets_its_producers(tmp_path: Path) -> None:
    """Producers retry batches that were not answered before the kill, and they are stored twice."""
    result = find_anomalies("idempotent", "forgets-producers,answers-late", ("kill-broker",), tmp_path, 6)
    assert Kind.DUPLICATE in kinds(result), result.counts


@pytest.mark.crash
def test_a_broker_that_serves_past_the_last_stable_offset(tmp_path: Path) -> None:
    """Without any fault: read_committed consumers see open and aborted transactions."""
    result = find_anomalies("transactional", "reads-past-last-stable-offset", (), tmp_path, 4)
    assert {Kind.UNCOMMITTED_READ, Kind.ABORTED_READ} <= kinds(result), result.counts
