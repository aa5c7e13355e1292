"""The whole demo, smaller: broker, sender, pipeline, proof, replay, comparison, chart."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_play_ends_with_a_proof_of_both_versions(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "demo", "--folder", tmp_path / "output", "--seconds=4", "--rate=500", "--devices=300"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    sums = [line for line in lines if "sent = counted + duplicates + late + dead letters: 2,0" in line]
    assert [line.partition(":")[0] for line in sums[-2:]] == ["v1", "v2"]
    assert (tmp_path / "output" / "chart.png").read_bytes().startswith(PNG)
    assert "+TOLERANCE = 10.0" in done.stdout
