"""`barnabas completion`: scripts that the shells accept, with every command and flag, and the names of a cluster."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run

from barnabas.cli.completion import collect_words
from barnabas.cli.completion_names import GROUPS, PROFILES, TOPICS
from barnabas.cli.kafka.scripts import SCRIPTS
from barnabas.testing import Broker

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(barnabas: Run, tmp_path: Path) -> Complete:
    """What bash offers for the last word of a line."""
    script = tmp_path / "completion"
    script.write_text(barnabas("completion", "bash").good())

    def offered(line: str, **environment: str) -> list[str]:
        words = line.split(" ")
        quoted = " ".join(f'"{word}"' for word in words)
        code = f'. {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE="{line}"; _barnabas\n'
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", code + 'printf "%s\\n" "${COMPREPLY[@]}"'],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path, **environment},
            timeout=60,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return offered


def test_every_command_and_its_flags_are_known() -> None:
    words = collect_words()
    assert {*SCRIPTS, "serve", "topic", "config", "log", "cluster", "completion"} <= set(words[""].fixed)
    assert "create" in words["topic"].fixed
    assert "--partitions" in words["topic create"].fixed
    assert "--data-dir" in words["serve"].fixed
    assert "--under-min-isr-partitions" in words["kafka-topics"].fixed


def test_what_takes_names_is_known() -> None:
    words = collect_words()
    topics = {path for path, found in words.items() if found.argument == TOPICS}
    assert topics == {"topic describe", "topic alter", "topic delete", "produce", "consume"}
    groups = {path for path, found in words.items() if found.argument == GROUPS}
    assert groups == {"group describe", "group reset-offsets", "group delete"}
    assert {("--group", GROUPS), ("-g", GROUPS), ("--profile", PROFILES)} <= set(words["consume"].values)
    assert ("--topic", TOPICS) in words["group reset-offsets"].values
    assert ("--topic", TOPICS) in words["kafka-console-consumer"].values
    assert ("--profile", PROFILES) not in words["pipeline run"].values


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("barnabas to", ["topic"]),
        ("barnabas topic cr", ["create"]),
        ("barnabas topic create --parti", ["--partitions"]),
        ("barnabas topic create name --parti", ["--partitions"]),
        ("barnabas -b localhost:9092 topic cr", ["create"]),
        ("barnabas kafka-topics --list --exclude", ["--exclude-internal"]),
        ("barnabas kafka-topics.sh --list --exclude", ["--exclude-internal"]),
        ("barnabas topic list --format ", ["table", "json"]),
        ("barnabas produce x --acks a", ["all"]),
        ("barnabas completion z", ["zsh"]),
        ("barnabas serve --log-level w", ["warning"]),
    ],
)
def test_bash_completes_without_a_broker(complete: Complete, line: str, expected: list[str]) -> None:
    assert complete(line, BARNABAS_BOOTSTRAP_SERVER="127.0.0.1:1") == expected


@pytest.mark.clients
def test_bash_completes_names_of_the_cluster(
    complete: Complete, barnabas: Run, barnabas_broker: Broker, barnabas_topic: str, tmp_path: Path
) -> None:
    servers = barnabas_broker.bootstrap_servers
    group = f"group-of-{barnabas_topic}"
    profiles = tmp_path / "profiles"
    profiles.write_text(f"[here]\nbootstrap.servers={servers}\n[there]\n")
    barnabas("produce", barnabas_topic, "-b", servers, stdin="x\n")
    barnabas("consume", barnabas_topic, "-b", servers, "-g", group, "-n", "1", "--from-beginning")
    start = barnabas_topic[:-2]
    nowhere = {"BARNABAS_BOOTSTRAP_SERVER": "127.0.0.1:1", "BARNABAS_PROFILES": str(profiles)}
    here = {**nowhere, "BARNABAS_BOOTSTRAP_SERVER": servers}
    assert complete(f"barnabas topic describe {start}", **here) == [barnabas_topic]
    assert complete(f"barnabas -b {servers} topic describe other {start}", **nowhere) == [barnabas_topic]
    assert complete(f"barnabas --profile here consume {start}", **nowhere) == [barnabas_topic]
    assert complete(f"barnabas consume x --profile here --group group-of-{start}", **nowhere) == [group]
    assert complete(f"barnabas group describe group-of-{start}", **here) == [group]
    assert complete(f"barnabas kafka-topics --describe --topic {start}", **here) == [barnabas_topic]
    assert complete("barnabas topic describe __cons", **here) == []
    assert complete("barnabas topic list --profile th", **nowhere) == ["there"]
    assert complete(f"barnabas topic describe {start}", **nowhere) == []
    assert complete(f"barnabas --profile missing topic describe {start}", **nowhere) == []


def test_a_broker_that_does_not_answer_holds_nobody_up(complete: Complete) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert complete("barnabas topic describe x", BARNABAS_BOOTSTRAP_SERVER=address) == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_parse_theirs(barnabas: Run, shell: str) -> None:
    script = barnabas("completion", shell).good()
    assert "kafka-consumer-groups" in script
    assert "--shift-by" in script
    assert "barnabas complete-names" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
