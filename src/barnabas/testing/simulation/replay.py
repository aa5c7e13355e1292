"""Checks that a seed replays: the same run in another process, with another PYTHONHASHSEED, has the same digest.

Another process has other addresses and another order of sets. What depends on them shows as another digest.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

from barnabas.testing.simulation.errors import SimulationError


class NotReplayed(SimulationError):
    """Two runs of one seed differ."""


def digest_in_new_process(command: Sequence[str], *, hash_seed: int) -> str:
    """`command`: arguments for this Python; it prints the digest as its last word."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        raise SimulationError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.split()[-1]


def check_replay(seed: int, digest: str, *, duration_ms: int) -> None:
    arguments = ["--seed", str(seed), "--seconds", str(duration_ms // 1000), "--digest"]
    command = ["-m", "barnabas.testing.simulation", *arguments]
    for hash_seed in (1, 2):
        again = digest_in_new_process(command, hash_seed=hash_seed)
        if again != digest:
            raise NotReplayed(f"seed {seed} has the digest {digest}, with PYTHONHASHSEED={hash_seed} it is {again}")
