"""The checker is good for something: it finds what is wrong with brokers that are broken on purpose."""

from pathlib import Path

import pytest

from barnabas.testing.checker import Kind, Result, check, history
from barnabas.testing.checker.run import Plan, run

SEED = 20261115


def what_is_found(workload: str, broken: str, faults: tuple[str, ...], directory: Path, seconds: float) -> Result:
    plan = Plan(workload, seconds, SEED, directory, faults=faults, broken=broken)
    return check(*history.read(run(plan, tell=lambda line: None)))


def kinds(result: Result) -> set[Kind]:
    return {anomaly.kind for anomaly in result.anomalies}


@pytest.mark.crash
def test_a_broker_that_acknowledges_before_it_appends(tmp_path: Path) -> None:
    """It is killed, and what it had only promised is gone; what comes later gets the offsets that were promised."""
    result = what_is_found("idempotent", "acks-before-appending", ("kill-broker",), tmp_path, 6)
    assert {Kind.LOST_WRITE, Kind.INCONSISTENT_OFFSET} <= kinds(result), result.counts


@pytest.mark.crash
def test_a_broker_that_forgets_its_producers(tmp_path: Path) -> None:
    """Producers repeat what was not answered before the kill, and it is stored again."""
    result = what_is_found("idempotent", "forgets-producers,answers-late", ("kill-broker",), tmp_path, 6)
    assert Kind.DUPLICATE in kinds(result), result.counts


@pytest.mark.crash
def test_a_broker_that_serves_past_the_last_stable_offset(tmp_path: Path) -> None:
    """No fault is needed: readers of committed records see transactions before they are over, and aborted ones."""
    result = what_is_found("transactional", "reads-past-last-stable-offset", (), tmp_path, 4)
    assert {Kind.UNCOMMITTED_READ, Kind.ABORTED_READ} <= kinds(result), result.counts
