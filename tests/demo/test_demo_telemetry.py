"""The simulation works as described, and the pipeline, the sender and the proof use the same constants."""

import itertools
from pathlib import Path

import pytest
from demo.classify import PLAUSIBLE, V1, V2, LogRecord, classify
from demo.plan import Plan
from demo.telemetry import DUPLICATE, GOOD, LATE, MALFORMED, closing, events
from demo.workplace import change_logic, make_project
from small_history import PLAN, START_MS, small_history

from barnabas.pipeline.project import load
from demo import plan as plans


def test_a_seed_gives_the_same_events_again() -> None:
    assert list(events(PLAN, START_MS)) == list(events(PLAN, START_MS))
    other = Plan(**{**{name: getattr(PLAN, name) for name in PLAN.__slots__}, "seed": 8})
    assert list(events(other, START_MS)) != list(events(PLAN, START_MS))


def test_records_reach_the_log_in_the_order_of_its_time_at_a_steady_rate() -> None:
    times = [event.timestamp_ms for event in events(PLAN, START_MS)]
    step_ms = 1000 * PLAN.speed / PLAN.rate
    assert all(abs(later - earlier - step_ms) <= 1 for earlier, later in itertools.pairwise(times))
    assert all(event.timestamp_ms > times[-1] for event in closing(PLAN, START_MS))


def test_so_much_goes_wrong_as_planned() -> None:
    plan = Plan(rate=5000, seconds=4)
    kinds = [event.kind for event in events(plan, START_MS)]
    for kind, part in ((DUPLICATE, plan.duplicates), (LATE, plan.late), (MALFORMED, plan.malformed)):
        assert kinds.count(kind) / len(kinds) == pytest.approx(part, rel=0.25)
    assert kinds.count(GOOD) > 0.9 * len(kinds)


def test_no_row_that_counts_is_behind_the_watermark_though_partitions_are_apart() -> None:
    """Partitions may differ by at most three ticks of the sender."""
    from demo.sender import TICK_S

    plan = Plan()
    apart_ms = 3 * TICK_S * plan.speed * 1000
    assert plans.LATE_AFTER_MS + apart_ms < plans.WATERMARK_DELAY_MS


def test_closing_events_end_all_windows_but_their_own() -> None:
    history = small_history()
    last = closing(PLAN, START_MS)[0].timestamp_ms
    over = history.verdict.watermark_ms()
    for reading in history.verdict.counted.values():
        end_ms = reading.at_ms // plans.WINDOW_MS * plans.WINDOW_MS + plans.WINDOW_MS
        assert end_ms <= over or reading.at_ms == last


def test_the_project_says_what_the_judge_says(tmp_path: Path) -> None:
    project = load(make_project(tmp_path, PLAN), environment={})
    source = project.sources["readings"]
    assert source.topic == plans.TOPIC
    assert source.late is not None
    assert source.watermark is not None
    assert (source.late.after.ms, source.watermark.delay.ms) == (plans.LATE_AFTER_MS, plans.WATERMARK_DELAY_MS)
    assert project.dead_letters.topic == plans.DEAD_LETTERS
    low, high = PLAUSIBLE
    assert f"BETWEEN {low:g} AND {high:g}" in {rule.name: rule.rule for rule in source.expect}["plausible"]
    assert f"TOLERANCE = {V1.tolerance}" in (project.folder / "flows/anomalies.py").read_text()


def test_the_changed_project_says_what_the_judge_says_of_v2(tmp_path: Path) -> None:
    folder = make_project(tmp_path, PLAN)
    lines = change_logic(folder)
    assert f"flows/anomalies.py: +TOLERANCE = {V2.tolerance}" in lines
    assert any(f"<= {V2.averages_without:g}" in line for line in lines)
    assert len(lines) == 4, "the versions differ in nothing else"
    load(folder, environment={})


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b'{"id": "1", "device": "d1", "at": "2026-01-01T12:00:00Z", "value": 20}', "counted"),
        (b'{"id": "1", "device": "d1", "at": "2026-01-01T11:59:29.999Z", "value": 20}', "late"),
        (b'{"id": "1", "device": "d1", "at": "2026-01-01T11:59:30Z", "value": 20}', "counted"),
        (b'{"id": "1", "device": "d1", "at": "2026-01-01T12:00:00Z", "value": "n/a"}', "dead letters"),
        (b'{"id": "1", "device": "d1", "at": "yesterday", "value": 20}', "dead letters"),
        (b'{"id": "1", "device": null, "at": "2026-01-01T12:00:00Z", "value": 20}', "dead letters"),
        (b'{"id": "1", "device": "d1", "at": "2026-01-01T12:00:00Z", "value": 150.01}', "dead letters"),
        (b'{"id": "1", "device"', "dead letters"),
    ],
)
def test_verdicts(value: bytes, kind: str) -> None:
    assert list(classify([LogRecord((0, 0), START_MS, "1", value)]).times_ms) == [kind]
