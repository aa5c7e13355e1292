"""Random runs of a query: drivers die, transactions time out, zombies wake, rows are split differently each time."""

from collections import Counter
from contextlib import suppress
from random import Random

import pytest

from barnabas.client.errors import Refused
from barnabas.spark.sink.exactly_once import steps
from barnabas.spark.sink.exactly_once.errors import OlderThanDecided
from barnabas.testing.simulated_query import Crash, SimulatedQuery, rows_of

WALKS = 12
BATCHES = 4
ALL_STEPS = (*steps.TASK_STEPS, *steps.COMMIT_STEPS, *steps.ROLL_FORWARD_STEPS)


class Life:
    """One random run. Every choice comes from the seed."""

    def __init__(self, query: SimulatedQuery, seed: int) -> None:
        self.query = query
        self.random = Random(seed)
        self.batch_id = 0
        self.depth = 0

    def run(self) -> None:
        while self.batch_id < BATCHES:
            batch_id = self.batch_id
            try:
                self.query.run_batch(batch_id, rows_of(batch_id), self.random.randint(1, 4), self.hook)
            except (Crash, Refused, OlderThanDecided):
                if self.random.random() < 0.3:
                    self.query.time_out(self.random)
                if self.random.random() < 0.3:
                    self.query.abort(batch_id)
            else:
                self.batch_id = max(self.batch_id, batch_id + 1)

    def hook(self, step: str) -> None:
        chance = self.random.random()
        if chance < 0.02:
            raise Crash(step)
        if chance < 0.05:
            self.query.time_out(self.random)
        elif chance < 0.07:
            with suppress(Refused):
                self.query.run_task(self.batch_id, rows_of(self.batch_id), self.random.randint(0, 3), looks=False)
        elif chance < 0.09 and self.depth == 0:
            self.successor()

    def successor(self) -> None:
        """Another driver runs the batch, while the calling one is paused."""
        self.depth += 1
        batch_id = self.batch_id
        with suppress(Crash, Refused, OlderThanDecided):
            self.query.run_batch(batch_id, rows_of(batch_id), self.random.randint(1, 4), self.hook)
            self.batch_id = max(self.batch_id, batch_id + 1)
        self.depth -= 1


@pytest.mark.parametrize("walk", range(WALKS))
def test_random_walks(query: SimulatedQuery, walk: int) -> None:
    seed = 1000 + walk
    print(f"seed {seed}")
    life = Life(query, seed)
    life.run()
    query.run_batch(BATCHES, rows_of(BATCHES), 2)
    expected = Counter(row for batch_id in range(BATCHES + 1) for row in rows_of(batch_id))
    assert query.committed() == expected, f"seed {seed}"
    assert query.open_transactions() == []
