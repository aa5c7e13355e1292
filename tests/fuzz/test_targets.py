"""Every parser of bytes from outside, with damaged input: only the errors it declares, and quickly.

The targets are those of `fuzz/`, which `make fuzz` runs for as long as you like. Here each gets a few thousand inputs,
with another seed in each run; hypothesis prints the failing one.
"""

import random
import resource
import time
from functools import cache

import pytest
from fuzz.mutation import mutate
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from property_effort import examples

INPUTS_PER_EXAMPLE = 40
INPUT_SECONDS_MAX = 2.0
"""Of the CPU: other processes of the machine do not count."""
GROWTH_MB_MAX = 300


@cache
def seeds_of(name: str) -> list[bytes]:
    return TARGETS[name].make_seeds(random.Random(name))


@pytest.mark.parametrize("name", TARGETS)
def test_sound_input_is_taken(name: str) -> None:
    for data in seeds_of(name):
        TARGETS[name].run(data)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**64))
def test_damaged_input_raises_what_is_declared_and_nothing_else(name: str, seed: int) -> None:
    rng = random.Random(seed)
    before_mb = peak_mb()
    for _ in range(INPUTS_PER_EXAMPLE):
        data = mutate(rng.choice(seeds_of(name)), rng)
        started = time.process_time()
        try:
            TARGETS[name].run(data)
        except BaseException:
            print(f"the input was {data!r}")
            raise
        assert time.process_time() - started < INPUT_SECONDS_MAX, data
    assert peak_mb() - before_mb < GROWTH_MB_MAX


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**64))
def test_every_kind_of_input_damaged(name: str, seed: int) -> None:
    """The requests and responses of every API and version among them."""
    rng = random.Random(seed)
    for sound in seeds_of(name):
        data = mutate(sound, rng)
        try:
            TARGETS[name].run(data)
        except BaseException:
            print(f"the input was {data!r}")
            raise


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_at_all(name: str, data: bytes) -> None:
    TARGETS[name].run(data)


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
