"""`barnabas completion`: scripts that the shells accept, with every command and flag in them."""

import shutil
import subprocess

import pytest
from cli_running import Run

from barnabas.cli.completion import collect_words
from barnabas.cli.kafka.scripts import SCRIPTS


def test_every_command_and_its_flags_are_known() -> None:
    words = collect_words()
    assert {*SCRIPTS, "serve", "topic", "config", "log", "cluster", "completion"} <= set(words[""])
    assert "create" in words["topic"]
    assert "--partitions" in words["topic create"]
    assert "--data-dir" in words["serve"]
    assert "--under-min-isr-partitions" in words["kafka-topics"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["barnabas", "to"], ["topic"]),
        (["barnabas", "topic", "cr"], ["create"]),
        (["barnabas", "topic", "create", "--parti"], ["--partitions"]),
        (["barnabas", "topic", "create", "name", "--parti"], ["--partitions"]),
        (["barnabas", "kafka-topics", "--list", "--exclude"], ["--exclude-internal"]),
    ],
)
def test_bash_completes(barnabas: Run, line: list[str], expected: list[str]) -> None:
    script = barnabas("completion", "bash").good()
    words = " ".join(f'"{word}"' for word in line)
    script += f"\nCOMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _barnabas; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_parse_theirs(barnabas: Run, shell: str) -> None:
    script = barnabas("completion", shell).good()
    assert "kafka-consumer-groups" in script
    assert "--shift-by" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
