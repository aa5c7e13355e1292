"""The whole demo, smaller: broker, sender, pipeline, proof, replay, comparison, chart.

It runs most of the commands of docs/kappa.md. The test runs the others, in the project and with the log that the demo
leaves behind. The Python of that page runs in tests/pipeline/replay/test_kappa.py.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.testing import Broker

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"
BY_THE_DEMO = (
    "barnabas pipeline run",
    "$EDITOR sql/averages.sql",
    "barnabas pipeline replay --as v2",
    "barnabas pipeline compare v1 v2",
    "barnabas pipeline switch v2",
)
"""In this order; some with more options."""


def commands_of_the_page() -> list[str]:
    (block,) = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/kappa.md").read_text(), re.MULTILINE | re.DOTALL)
    return [line.partition(" # ")[0].strip() for line in block.splitlines()]


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_play_ends_with_a_proof_of_both_versions(tmp_path: Path) -> None:
    folder = tmp_path / "output"
    done = subprocess.run(
        [sys.executable, "-m", "demo", "--folder", folder, "--seconds=4", "--rate=500", "--devices=300"],
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
    assert (folder / "chart.png").read_bytes().startswith(PNG)
    assert "+TOLERANCE = 10.0" in done.stdout
    assert "readers now see the topic averages.v2" in done.stdout
    follow_the_rest_of_the_page(folder)


def follow_the_rest_of_the_page(folder: Path) -> None:
    commands = commands_of_the_page()
    assert tuple(commands[: len(BY_THE_DEMO)]) == BY_THE_DEMO
    with Broker(data_dir=folder / "log") as broker:
        switched, versions = (
            subprocess.run(
                [sys.executable, "-m", *command.split(), "--set", f"log.bootstrap={broker.bootstrap_servers}"],
                cwd=folder / "project",
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            ).stdout
            for command in commands[len(BY_THE_DEMO) :]
        )
    assert "averages: readers now see the topic averages, no longer the topic averages.v2" in switched
    flows = [line.split() for line in versions.splitlines()[1:]]
    assert {(words[0], words[2]) for words in flows} == {("v1", "yes"), ("v2", "-")}
