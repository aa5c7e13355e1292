"""How much of the cores other processes used while something was measured. On a quiet machine it is next to nothing."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from bench.process_facts import machine_cpu_s


class OtherLoad:
    def __init__(
        self,
        cores: int = os.cpu_count() or 1,
        used_s: Callable[[], float] = machine_cpu_s,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._cores = cores
        self._used_s = used_s
        self._clock = clock
        self._shares: list[float] = []

    @contextmanager
    def watching(self) -> Iterator[list[float]]:
        """Yields a list for the CPU seconds of server and client during the block."""
        ours: list[float] = []
        used_s, started = self._used_s(), self._clock()
        yield ours
        elapsed_s = self._clock() - started
        others_s = self._used_s() - used_s - sum(ours)
        self._shares.append(max(0.0, others_s / elapsed_s / self._cores))

    def __str__(self) -> str:
        return (
            f"other processes used {median(self._shares):.0%} of the cores during a turn (median), "
            f"{max(self._shares):.0%} at most"
        )
