"""The whole demo, smaller: processes, both kills and the proof."""

import subprocess
import sys
from pathlib import Path

import pytest

SMALL = "--senders 2 --members 2 --partitions 4 --rate 300 --act-s 0.5 --session-timeout-ms 1500"


@pytest.mark.clients
@pytest.mark.crash
def test_the_play_ends_with_a_proof() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "demo", *SMALL.split()],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "took over partitions" in done.stdout
    assert "the broker is back" in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("sent = received: ")
    assert last.endswith(", lost 0, doubled 0")
