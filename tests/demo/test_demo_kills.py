"""The demo with everything killed in its middle: a few rounds of what `make soak` does twenty times."""

import os
import random

import pytest
from demo.kills import VICTIMS, run_rounds

SEED = int(os.environ.get("BARNABAS_SEED", random.randrange(1 << 20)))


@pytest.mark.spark
@pytest.mark.crash
@pytest.mark.timeout(1500)
def test_the_proof_holds_with_driver_worker_and_broker_killed() -> None:
    print(f"seed {SEED}")
    rounds = run_rounds(2, SEED, cluster=False)
    assert [each.proof.line() for each in rounds if not each.proof.holds()] == []
    assert all(len(each.kills) == len(VICTIMS) for each in rounds)
    assert all(each.starts >= 2 for each in rounds), "the driver was killed in each"
