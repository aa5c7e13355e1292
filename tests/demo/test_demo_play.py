"""The whole demo, smaller: broker, sender, pipeline, proof, replay, comparison, chart.

It runs the first commands of docs/kappa.md, in their order, and edits what they say. The test runs the others, in the
project and with the log that the demo leaves behind.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from followed_pages import Followed

from barnabas.testing import Broker

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"
RAN = re.compile(r"^ *[\d.]+s  (barnabas pipeline .*)$", re.MULTILINE)
"""What the demo says of each command that it runs."""
EDIT = "$EDITOR sql/averages.sql"


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_play_ends_with_a_proof_of_both_versions(tmp_path: Path, followed: Followed) -> None:
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
    (block,) = followed("docs/kappa.md")
    commands = [command.partition(" # ")[0].strip() for command, _ in block.commands]
    commands.remove(EDIT)
    ran = RAN.findall(done.stdout)
    assert len(ran) == 4
    for command, of_the_demo in zip(commands, ran, strict=False):
        assert f"{of_the_demo} ".startswith(f"{command} "), "the demo may add options"
    follow_the_rest_of_the_page(folder, commands[len(ran) :])


def follow_the_rest_of_the_page(folder: Path, commands: list[str]) -> None:
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
            for command in commands
        )
    assert "averages: readers now see the topic averages, no longer the topic averages.v2" in switched
    flows = [line.split() for line in versions.splitlines()[1:]]
    assert {(words[0], words[2]) for words in flows} == {("v1", "yes"), ("v2", "-")}
