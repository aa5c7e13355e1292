"""The core under faults, in virtual time: what must hold does, and every planted bug is found.

A failure prints its seed. BARNABAS_RAFT_SEEDS=2000 runs that many; each tenth has static voters. The planted bugs are
searched with the same workload, from the first seed on.
"""

import os

import pytest
from raft_model.oracle import Broken
from raft_model.planted import PLANTED
from raft_model.workload import simulate

from barnabas.raft.core.raft import Raft

SEEDS = int(os.environ.get("BARNABAS_RAFT_SEEDS", "24"))
SEARCHED_MAX = 200
"""Each was found within 11; a change of the core or of the workload moves that."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_must_hold_does(seed: int) -> None:
    summary = simulate(seed, kraft_version=0 if seed % 10 == 9 else 1)
    print(f"seed {seed}: {summary}")
    assert summary.elections >= 1
    assert summary.faults >= 2


@pytest.mark.parametrize("make_raft", PLANTED, ids=lambda each: each.__name__)
def test_a_planted_bug_is_found(make_raft: type[Raft]) -> None:
    for seed in range(SEARCHED_MAX):
        try:
            simulate(seed, make_raft)
        except Broken as broken:
            print(f"{make_raft.__name__}: seed {seed}: {broken}")
            return
    pytest.fail(f"not found by seeds 0 to {SEARCHED_MAX - 1}")


def test_a_seed_replays() -> None:
    assert simulate(3) == simulate(3)
