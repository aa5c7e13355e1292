"""The proof can fail: each kind of error is detected and named."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from demo.classify import V1, V2, averages
from demo.proof import Check, Outputs, Proof
from small_history import SmallHistory, small_history


@pytest.fixture(scope="module")
def right() -> SmallHistory:
    return small_history()


def failed(proof: Proof) -> dict[str, Check]:
    assert not proof.holds()
    return {check.what: check for check in proof.checks if not check.holds()}


def test_what_is_right_holds_and_adds_up(right: SmallHistory) -> None:
    proof = right.prove(right.outputs())
    assert proof.holds()
    assert all(check.expected > 0 for check in proof.checks)
    assert min(proof.counted, proof.duplicates, proof.late, proof.dead) > 10
    total = f"{proof.counted:,} + {proof.duplicates:,} + {proof.late:,} + {proof.dead:,}"
    assert proof.line() == f"sent = counted + duplicates + late + dead letters: {proof.sent:,} = {total}"


Doctor = Callable[[Outputs], Outputs]

DOCTORED: dict[str, tuple[Doctor, str, str]] = {
    "a lost row": (lambda o: replace(o, history=o.history[1:]), "history", "missing"),
    "a row twice": (lambda o: replace(o, history=[*o.history, o.history[0]]), "history", "doubled"),
    "one lost, another twice: the sum is right": (
        lambda o: replace(o, history=[*o.history[1:], o.history[5]]),
        "history",
        "missing",
    ),
    "a row that should not be there": (
        lambda o: replace(o, history=[*o.history, o.history[0]._replace(id="foreign")]),
        "history",
        "wrong",
    ),
    "a row of another place": (
        lambda o: replace(o, history=[o.history[0]._replace(place=(0, 10**6)), *o.history[1:]]),
        "history",
        "wrong",
    ),
    "another value": (
        lambda o: replace(o, history=[o.history[0]._replace(value=-1.0), *o.history[1:]]),
        "history",
        "wrong",
    ),
    "a window less": (lambda o: replace(o, averages=o.averages[1:]), "averages", "missing"),
    "a window twice": (lambda o: replace(o, averages=[*o.averages, o.averages[0]]), "averages", "doubled"),
    "a wrong count": (
        lambda o: replace(o, averages=[(o.averages[0][0], o.averages[0][1]._replace(readings=1)), *o.averages[1:]]),
        "averages",
        "wrong",
    ),
    "a wrong average": (
        lambda o: replace(o, averages=[(o.averages[0][0], o.averages[0][1]._replace(average=0.0)), *o.averages[1:]]),
        "averages",
        "wrong",
    ),
    "a lost anomaly": (lambda o: replace(o, anomalies=o.anomalies[1:]), "anomalies", "missing"),
    "an anomaly twice": (lambda o: replace(o, anomalies=[*o.anomalies, o.anomalies[0]]), "anomalies", "doubled"),
    "a lost letter": (lambda o: replace(o, dead_letters=o.dead_letters[1:]), "dead letters", "missing"),
    "a letter twice": (
        lambda o: replace(o, dead_letters=[*o.dead_letters, o.dead_letters[0]]),
        "dead letters",
        "doubled",
    ),
    "a letter with other bytes": (
        lambda o: replace(o, dead_letters=[o.dead_letters[0]._replace(value=b"?"), *o.dead_letters[1:]]),
        "dead letters",
        "wrong",
    ),
}


@pytest.mark.parametrize("flaw", DOCTORED)
def test_doctored_outputs_are_found_out(right: SmallHistory, flaw: str) -> None:
    doctor, what, flawed = DOCTORED[flaw]
    found = failed(right.prove(doctor(right.outputs())))
    assert set(found) == {what}
    assert getattr(found[what], flawed) >= 1


def test_a_late_event_that_was_counted_all_the_same(right: SmallHistory) -> None:
    outputs = right.outputs()
    place, id_ = next(iter(right.verdict.late.items()))
    row = outputs.history[0]._replace(id=id_, place=place)
    assert failed(right.prove(replace(outputs, history=[*outputs.history, row])))["history"].wrong == 1


def test_a_record_that_the_log_has_lost_or_has_twice(right: SmallHistory) -> None:
    lost = replace_log(right, right.log[1:])
    assert failed(lost.prove(right.outputs()))["log"].missing == 1
    twice = replace_log(right, [*right.log, right.log[0]._replace(place=(0, 10**6))])
    assert failed(twice.prove(right.outputs()))["log"].wrong == 1


def replace_log(history: SmallHistory, log: list) -> SmallHistory:  # type: ignore[type-arg]
    return replace(history, log=log)


def test_a_judge_who_takes_good_events_for_late_ones_is_contradicted_by_the_sender(right: SmallHistory) -> None:
    from demo.classify import classify

    later = [record._replace(timestamp_ms=record.timestamp_ms + 25_000) for record in right.log]
    doubtful = replace(right, log=later, verdict=classify(later))
    assert failed(doubtful.prove(doubtful.outputs()))["kinds"].missing > 0


def test_nothing_sent_proves_nothing(right: SmallHistory) -> None:
    empty = replace(right.outputs(), history=[], averages=[], anomalies=[], dead_letters=[])
    proof = replace(right.prove(empty), sent=0, counted=0, duplicates=0, late=0, dead=0, checks=())
    assert not proof.holds()


def test_the_changed_logic_changes_something(right: SmallHistory) -> None:
    old, new = (averages(right.verdict, right.devices, logic) for logic in (V1, V2))
    assert old.keys() == new.keys()
    assert 0 < sum(old[minute] != new[minute] for minute in old) < len(old)
