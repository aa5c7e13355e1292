"""Plans the trials: the first, a middle and the last occurrence of every step, with every moment and ending."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Final, Literal, NamedTuple

from barnabas.testing.crash.simulated import Ending
from barnabas.testing.crashing_disk import ANY_STEP, CrashPoint, Moment

_ENDS: Final[tuple[tuple[Moment, Ending], ...]] = (
    ("before", "kill"),
    ("torn", "kill"),
    ("after", "kill"),
    ("before", "cut"),
    ("after", "cut"),
    ("torn", "tear"),
    ("after", "tear"),
    ("error", "kill"),
    ("full", "kill"),
)
_STEPS_AFTER_DEATH: Final = 60
"""In every third trial, the restarted broker crashes again at one of these steps."""


class Planned(NamedTuple):
    points: tuple[CrashPoint, ...]
    ending: Ending | Literal["process"]
    seed: int

    def __str__(self) -> str:
        return f"{' then '.join(map(str, self.points))}, {self.ending}, seed {self.seed}"


def plan_simulated(steps: Mapping[str, int], seed: int) -> Iterator[Planned]:
    """`steps`: how often each occurs without a crash."""
    rng = Random(seed)
    for step, count in sorted(steps.items()):
        for occurrence in sorted({1, (count + 1) // 2, count}):
            for moment, ending in _ENDS:
                if _makes_sense(step, moment):
                    points = [CrashPoint(step, occurrence, moment)]
                    if rng.randrange(3) == 0 and moment not in ("error", "full"):
                        points.append(CrashPoint(ANY_STEP, rng.randint(1, _STEPS_AFTER_DEATH), rng.choice(_DEATHS)))
                    yield Planned(tuple(points), ending, rng.getrandbits(32))


def plan_processes(steps: Mapping[str, int], seed: int) -> Iterator[Planned]:
    """Each step once, early after a start, at moments that vary with step and seed."""
    rng = Random(seed)
    for step, count in sorted(steps.items()):
        moments: list[Moment] = [moment for moment in _DEATHS if _makes_sense(step, moment)]
        # The workload starts the broker three times, and each process counts its own steps.
        occurrence = rng.randint(1, max(1, count // 6))
        yield Planned((CrashPoint(step, occurrence, rng.choice(moments)),), "process", rng.getrandbits(32))


_DEATHS: Final[tuple[Moment, ...]] = ("before", "torn", "after")


def _makes_sense(step: str, moment: Moment) -> bool:
    effect = step.partition(": ")[2].partition(" ")[0]
    if moment == "torn":
        return effect == "write"
    return moment != "full" or effect in ("create", "write", "make")
