"""Partitions that the command chooses itself."""

from collections import Counter
from itertools import pairwise
from random import Random

from barnabas.cli.partitioners import STICKY_BATCH_BYTES, round_robin, sticky


def test_round_robin_takes_turns() -> None:
    choose = round_robin(3)
    assert [choose(10) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_sticky_stays_for_a_batch_and_then_moves_on() -> None:
    choose = sticky(4, Random(1))
    size = STICKY_BATCH_BYTES // 4
    chosen = [choose(size) for _ in range(400)]
    batches = [chosen[first : first + 4] for first in range(0, 400, 4)]
    assert all(len(set(batch)) == 1 for batch in batches)
    assert all(one[0] != next_[0] for one, next_ in pairwise(batches))
    assert set(Counter(chosen)) == {0, 1, 2, 3}


def test_sticky_takes_a_record_larger_than_a_batch_and_a_single_partition() -> None:
    choose = sticky(1, Random(1))
    assert [choose(STICKY_BATCH_BYTES * 2) for _ in range(3)] == [0, 0, 0]
