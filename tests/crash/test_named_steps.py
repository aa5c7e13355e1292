"""Crashes at the named steps of a broker's work: a sample here, all of them in `make soak`.

    BARNABAS_SEED=7 pytest tests/crash/test_named_steps.py

repeats a run; `python -m barnabas.testing.crash --at ...` repeats one trial, as a failure prints it.
"""

import os
import random
from collections.abc import Sequence

import pytest

from barnabas.testing.crash.__main__ import reference_steps, run_planned
from barnabas.testing.crash.plan import Planned, plan_processes, plan_simulated
from barnabas.testing.crash.simulated import Ending
from barnabas.testing.crashing_disk import CrashPoint

SEED = int(os.environ.get("BARNABAS_SEED", random.SystemRandom().getrandbits(32)))
SIMULATED = 60
PROCESSES = 2


# Trials that once failed.
LESSONS = [
    ("format: write temporary meta.properties#1/full", "kill"),  # a traceback instead of a sentence
    ("groups creation: create .log#1/full", "kill"),  # groups without a coordinator until a restart
    ("checkpoint: create temporary leader-epoch-checkpoint#1/full", "kill"),  # a record that was never synced
    ("metadata snapshot: write temporary .checkpoint#2/torn", "kill"),  # a file that nobody removed
]


@pytest.fixture(scope="module")
def steps() -> dict[str, int]:
    return reference_steps()


def test_the_workload_touches_every_kind_of_work(steps: dict[str, int]) -> None:
    subjects = {step.partition(":")[0] for step in steps}
    for subject in ("append", "roll", "flush", "compaction", "deletion", "creation", "checkpoint"):
        assert {subject, f"groups {subject}"} <= subjects
    assert {"metadata append", "metadata roll", "metadata flush", "metadata snapshot", "election"} <= subjects
    assert {"topic deletion", "clean mark", "format", "transactions append", "transactions roll"} <= subjects
    assert {"roll: write .txnindex", "compaction: write .txnindex.cleaned", "flush: sync .txnindex"} <= set(steps)
    assert len(steps) > 150


def test_a_broker_ends_at_some_of_its_steps_on_a_simulated_disk(steps: dict[str, int]) -> None:
    rng = random.Random(SEED)
    _try(rng.sample(list(plan_simulated(steps, SEED)), SIMULATED))


@pytest.mark.parametrize(("point", "ending"), LESSONS)
def test_what_once_failed(point: str, ending: Ending) -> None:
    _try([Planned((CrashPoint.parse(point),), ending, SEED)])


@pytest.mark.crash
def test_a_process_kills_itself_at_some_of_its_steps(steps: dict[str, int]) -> None:
    rng = random.Random(SEED)
    _try(rng.sample(list(plan_processes(steps, SEED)), PROCESSES))


def _try(planned: Sequence[Planned]) -> None:
    print(f"BARNABAS_SEED={SEED}")
    failures = [f"{trial}: {outcome.failure}" for trial in planned if (outcome := run_planned(trial)).failure]
    assert not failures, "\n".join(failures)
