"""A valid history has no anomaly; a planted one is found and named."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from planted import PLANTS
from sound_history import HEADER, SoundRun

from barnabas.testing.checker import check, history
from barnabas.testing.checker.anomalies import MEANING, Kind
from property_effort import examples

SEEDS = st.integers(0, 2**32)
NEED_MORE_THAN_THIS = {Kind.PROCESSED_TWICE, Kind.WRONG_TOTAL}
"""These have histories of their own, see test_hand_made_histories."""


@given(SEEDS)
@settings(max_examples=examples(40))
def test_a_sound_history_has_no_anomaly(seed: int) -> None:
    result = check(HEADER, SoundRun(seed).events)
    assert result.anomalies == []
    assert result.counts["values sent"] > 0


@pytest.mark.parametrize("name", PLANTS)
@given(seed=SEEDS)
@settings(max_examples=examples(25))
def test_a_planted_anomaly_is_named(name: str, seed: int) -> None:
    kind, plant = PLANTS[name]
    run = SoundRun(seed)
    assume(plant(run))
    found = check(HEADER, run.events).anomalies
    assert kind in {anomaly.kind for anomaly in found}, found
    for anomaly in found:
        assert anomaly.where
        assert anomaly.what
        assert anomaly.evidence


def test_every_kind_is_planted_and_explained() -> None:
    assert {kind for kind, _ in PLANTS.values()} | NEED_MORE_THAN_THIS == set(Kind)
    assert set(MEANING) == set(Kind)


@given(seed=SEEDS)
@settings(max_examples=examples(10))
def test_a_history_is_the_same_when_it_is_read_again(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    run = SoundRun(seed)
    history.write(path, HEADER, run.events)
    assert history.read(path) == (HEADER, run.events)
